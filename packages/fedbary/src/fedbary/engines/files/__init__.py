"""Without a server: every message is a file that somebody carries, by e-mail, SFTP or a USB stick."""
