const socket = new WebSocket("wss://stream.example.com/v1");
socket.send("hello");
