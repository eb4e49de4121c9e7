// The process of an identity under test. It runs inside a pod, from the shared folder, and says in the file of its identity that it lives.
// Where the pod has a volume of the storage server it also appends records there.
import { openSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { VolumeConnection, VolumeTicket } from '@holdfast/client/storage-server';
import type { Clock } from '@holdfast/platform';

const BEAT_MS = 100;
const WRITE_MS = 200;
const RECORD_BYTES = 64;
const SCAN_RECORDS = 4_096;

const { POD_NAME = '', POD_UID = '', NODE_NAME = '', HOLDFAST_VOLUME_DIR_DATA: ticketFolder } = process.env;
const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer: (delayMs, fire) => {
    const handle = setTimeout(fire, delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
  sleep: (delayMs) => new Promise((resolve) => setTimeout(resolve, delayMs)),
};
const log = openSync(`/shared/${POD_NAME}.log`, 'a');
/** One write, so that lines of two processes keep their order and never mix. */
const say = (what: string, record = '-'): void =>
  void writeSync(log, `${Date.now()} ${POD_NAME} ${POD_UID} ${NODE_NAME} ${process.pid} ${what} ${record}\n`);

const stopSeconds = Number(process.argv[2] ?? 0);
let isStopping = false;
process.once('SIGTERM', () => {
  if (stopSeconds === 0) process.exit(0);
  // Its successor may run on the same node, and may write there.
  isStopping = true;
  say('stopping');
  setTimeout(() => {
    say('stopped');
    process.exit(0);
  }, stopSeconds * 1000);
});
setInterval(() => say('beat'), BEAT_MS);
say('beat');
if (ticketFolder !== undefined) await appendRecords(ticketFolder);

async function appendRecords(folder: string): Promise<void> {
  // The image has the client, outside of any folder that TypeScript knows here.
  const program = '/opt/holdfast/libs/client/src/storage-server/volume-connection.ts';
  const client = (await import(program)) as { readonly VolumeConnection: typeof VolumeConnection };
  let connection: VolumeConnection | undefined;
  let next: number | undefined;
  while (!isStopping) {
    try {
      connection ??= await client.VolumeConnection.open(readTicket(folder), clock);
      next ??= await countRecords(connection);
      await connection.write(next * RECORD_BYTES, recordOf(next));
      await connection.flush();
      say('wrote', String(next));
      next++;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'stale') say('refused', String(next ?? 0));
      else {
        process.stderr.write(`${POD_NAME} has no volume for a moment: ${String(error)}\n`);
        connection?.close();
        connection = undefined;
      }
    }
    await clock.sleep(WRITE_MS);
  }
}

function readTicket(folder: string): VolumeTicket {
  const text = (name: string): string => readFileSync(path.join(folder, name), 'utf8').trim();
  return {
    server: text('server'),
    volume: text('volume'),
    token: Number(text('token')),
    proof: text('proof'),
    ca: text('ca.crt'),
  };
}

function recordOf(index: number): Buffer {
  return Buffer.from(`${POD_UID} ${index}`.padEnd(RECORD_BYTES - 1).concat('\n'));
}

/** Records follow each other without a gap. */
async function countRecords(connection: VolumeConnection): Promise<number> {
  for (let count = 0; ; count += SCAN_RECORDS) {
    const part = await connection.read(count * RECORD_BYTES, SCAN_RECORDS * RECORD_BYTES);
    const filled = Array.from({ length: SCAN_RECORDS }, (_, index) => part[index * RECORD_BYTES]).indexOf(0);
    if (filled !== -1) return count + filled;
  }
}
