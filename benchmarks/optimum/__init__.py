"""The best there is, on instances small enough: ``matchenv optimum``."""
