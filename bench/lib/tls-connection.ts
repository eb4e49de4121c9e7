import { connect, type TLSSocket } from 'node:tls';

/** The API's address and credentials. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly token: string;
}

/** All connections read into the same memory: a buffer of its own for each read is much of what a client of Node costs. */
const SHARED = Buffer.allocUnsafeSlow(64 * 1024);

/** HTTP/1.1 over TLS; `take` is given bytes that are its own only until it returns. */
export function openTls({ host, port }: Target, take: (bytes: Buffer) => void): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const onread = {
      buffer: SHARED,
      callback: (length: number): boolean => {
        take(SHARED.subarray(0, length));
        return true;
      },
    };
    const options = { host, port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'], onread };
    const socket = connect(options);
    socket.setNoDelay(true);
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
}
