"""What people look at: pictures, reports and tables of results."""
