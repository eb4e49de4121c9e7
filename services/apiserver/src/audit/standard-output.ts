import { write } from 'node:fs';
import type { Clock } from '@holdfast/platform';
import type { AuditFile } from './log-sink.ts';

const STANDARD_OUTPUT = 1;
/** A reader that is slow is waited for. */
const FULL_MS = 10;

/** For `--audit-log-path=-`: the server's supervisor collects the output. */
export function createStandardOutput(clock: Clock): AuditFile {
  return {
    open: async () => {},
    append: async (text) => {
      let rest = Buffer.from(text);
      while (rest.length > 0) {
        const written = await some(rest);
        if (written === 0) await clock.sleep(FULL_MS);
        rest = rest.subarray(written);
      }
    },
    close: async () => {},
  };
}

/** Returns the number of written bytes; 0 when the pipe is full. */
function some(bytes: Buffer): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  write(STANDARD_OUTPUT, bytes, (error, written) => {
    if (error === null) resolve(written);
    else if (error.code === 'EAGAIN') resolve(0);
    else reject(error);
  });
  return promise;
}
