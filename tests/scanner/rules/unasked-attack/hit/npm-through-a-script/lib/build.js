const {send} = require('./part');
send();
