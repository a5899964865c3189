"""What no policy can exceed, at full size: ``matchenv bound``."""
