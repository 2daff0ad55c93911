"""FedBary in Flower apps: the public names of the package fedbary-flower (``pip install 'fedbary[flower]'``)."""

from fedbary.satellites import names_of

__getattr__ = names_of("fedbary_flower", __name__)
