"""The alternatives to parcubin: each a small script that takes the same arguments and writes CUBINs to a folder. They
use nothing of parcubin."""
