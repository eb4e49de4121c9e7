import type { Socket } from 'node:net';
import { FIRST_LINE_MAX_BYTES } from './limits.ts';
import { LineReader } from './line-reader.ts';
import type { DialAnswer } from './protocol.ts';

/** Reads the line that answers a request for a connection; the bytes of the connection follow. */
export function dialled(socket: Socket): Promise<void> {
  const reader = new LineReader(FIRST_LINE_MAX_BYTES);
  return new Promise((resolve, reject) => {
    // Not by 'data': the next reader would have to know that the connection is paused.
    const read = (): void => {
      try {
        const chunk: unknown = socket.read();
        const found = chunk instanceof Buffer ? reader.first(chunk) : undefined;
        if (found === undefined) return;
        socket.off('readable', read);
        socket.off('close', gone);
        if (found.rest.length > 0) socket.unshift(found.rest);
        const answer = JSON.parse(found.line) as DialAnswer;
        if ('refused' in answer) reject(new Error(answer.refused));
        else resolve();
      } catch (error) {
        reject(new Error('the answer of the network of pods cannot be read', { cause: error }));
      }
    };
    const gone = (): void => reject(new Error('the network of pods ended the connection'));
    socket.on('readable', read);
    socket.on('error', reject);
    socket.once('close', gone);
  });
}
