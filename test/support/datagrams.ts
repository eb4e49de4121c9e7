/** Programs for Node that pods and machines run: images of the tests have none that speaks UDP. */

/** Answers each datagram and each connection at this port with a word. Arguments: the port and the word. */
export const SERVE_BOTH = `const [, port, word] = process.argv;
const socket = require('node:dgram').createSocket('udp4');
socket.on('message', (asked, { port: to, address }) => socket.send(word, to, address));
socket.bind(Number(port), () => {
  require('node:net').createServer((client) => client.on('error', () => undefined).end(word)).listen(Number(port));
});`;

/** Prints what answers a datagram within a second, else nothing. Arguments: host and port. */
export const ASK_UDP = `const [, host, port] = process.argv;
const socket = require('node:dgram').createSocket('udp4');
socket.on('message', (answer) => { console.log(String(answer)); socket.close(); }).on('error', () => socket.close());
socket.connect(Number(port), host, () => socket.send('who'));
setTimeout(() => process.exit(), 1000).unref();`;

/** Prints what answers a connection within a second, else nothing. Arguments: host and port. */
export const ASK_TCP = `const [, host, port] = process.argv;
const socket = require('node:net').connect(Number(port), host);
socket.on('data', (answer) => console.log(String(answer))).on('error', () => undefined);
setTimeout(() => process.exit(), 1000).unref();`;
