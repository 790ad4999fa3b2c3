"""What any server of ours needs of HTTP: bounds on clients that are slow, many or loud, and the server itself."""
