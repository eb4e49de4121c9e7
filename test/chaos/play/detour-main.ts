// A way through which a fault can lead the connections of a container: it delays what passes, or loses answers. It runs in the network of the
// container, from outside of it. Its only argument says what it does; it prints a line when it listens, and ends with its input.
import net from 'node:net';
import tls from 'node:tls';

/** What passes through a detour. */
export interface DetourSettings {
  readonly listen: { readonly host: string; readonly port: number };
  readonly to: { readonly host: string; readonly port: number };
  /** The most by which a piece is late, in each direction that is named. */
  readonly delayMs: number;
  readonly delays: 'both' | 'answers' | 'feed';
  /** Always the whole delay; otherwise a random part of it. */
  readonly isExact: boolean;
  /** The share of the writes to the store whose answer is lost. */
  readonly lostAnswers: number;
  /** Opens what is encrypted: a certificate that the container trusts. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string; readonly name: string };
}

const WRITES = /\r\n(?:EVALSHA|EVAL|evalsha|eval)\r\n/;
const FEED = /\r\n(?:XREAD|xread)\r\n/;

/** Hands pieces on in their order, each not before its time. */
function late(socket: net.Socket, delayOf: () => number): (piece: Buffer) => void {
  let last: Promise<void> = Promise.resolve();
  return (piece) => {
    const due = delayOf();
    const waited = due === 0 ? Promise.resolve() : new Promise<void>((resolve) => void setTimeout(resolve, due));
    last = Promise.all([last, waited]).then(() => void (socket.destroyed || socket.write(piece)));
  };
}

function lead(client: net.Socket, settings: DetourSettings): void {
  const { to, delayMs, delays, isExact, lostAnswers } = settings;
  const server =
    settings.tls === undefined
      ? net.connect(to)
      : tls.connect({ ...to, ca: settings.tls.ca, servername: settings.tls.name });
  let isFeed = false;
  let isAnswerLost = false;
  const delay = (): number => (isExact ? delayMs : Math.random() * delayMs);
  const ask = late(server, () => (delays === 'both' ? delay() : 0));
  const answer = late(client, () => (delays === 'feed' && !isFeed ? 0 : delay()));
  const end = (): void => {
    client.destroy();
    server.destroy();
  };
  client.on('data', (piece) => {
    const text = piece.toString('latin1');
    isFeed ||= FEED.test(text);
    isAnswerLost ||= WRITES.test(text) && Math.random() < lostAnswers;
    ask(piece);
  });
  server.on('data', (piece) => (isAnswerLost ? end() : answer(piece)));
  for (const socket of [client, server]) socket.on('error', end).on('close', end);
}

const settings = JSON.parse(process.argv[2] ?? '{}') as DetourSettings;
const accept = (client: net.Socket): void => lead(client, settings);
const server =
  settings.tls === undefined
    ? net.createServer(accept)
    : tls.createServer({ cert: settings.tls.cert, key: settings.tls.key }, accept);
server.on('tlsClientError', () => {});
server.listen(settings.listen, () => process.stdout.write('listening\n'));
process.stdin.on('end', () => process.exit(0)).resume();
