const socket = new WebSocket("ws://node.example.net:4444/c");
socket.send("hello");
