// A file system that can forget: `node forgetful-main.ts FOLDER` mounts it there. On the line `forget` on its standard input
// everything that was not synced is gone, as after a loss of power, and it prints how many bytes. `full` and `roomy` end and
// bring back its room, `read-only` and `writable` say whether anything is written at all, `slow N` lets each sync take N ms;
// they are repeated when that is done. It ends with its standard input.
import { spawn, spawnSync } from 'node:child_process';
import { openSync, read, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { ForgetfulTree } from './forgetful-tree.ts';
import { decodeRequest, encodeReply, IN_HEADER_BYTES, WRITE_BYTES_MAX } from './fuse-protocol.ts';

const folder = process.argv[2] ?? '';
const tree = new ForgetfulTree();
const device = openSync('/dev/fuse', 'r+');
/** The number of the operation. */
const FSYNC = 20;
let slowMs = 0;
const message = Buffer.alloc(WRITE_BYTES_MAX + 8_192);

const options = 'fd=3,rootmode=40000,user_id=0,group_id=0';
const mounting = spawn('mount', ['-i', '-t', 'fuse', '-o', options, 'forgetful', folder], {
  stdio: ['ignore', 'inherit', 'inherit', device],
});
mounting.once('exit', (code) => {
  if (code !== 0) process.exit(code ?? 1);
  // The device refuses whoever reads from it before the mount.
  serve();
  process.stdout.write('mounted\n');
});

function serve(): void {
  read(device, message, 0, message.length, null, (error, bytes) => {
    if (error !== null) {
      // An interrupted request, or one that was given up: the next one.
      if (error.code === 'EINTR' || error.code === 'ENOENT' || error.code === 'EAGAIN') serve();
      else end();
      return;
    }
    if (bytes >= IN_HEADER_BYTES) answer();
    serve();
  });
}

function answer(): void {
  const request = decodeRequest(message);
  const result = tree.answer(request);
  if (result === undefined) return;
  if (slowMs > 0 && request.opcode === FSYNC) setTimeout(() => reply(request.unique, result), slowMs);
  else reply(request.unique, result);
}

function reply(unique: bigint, result: Buffer | number): void {
  try {
    writeSync(device, encodeReply(unique, result));
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ENOENT') throw error;
  }
}

function end(): void {
  spawnSync('umount', ['-l', folder]);
  // A mount namespace that somebody made meanwhile has the file system, too, so the last reading may wait for as long as that
  // lives, and a usual exit would wait for the reading.
  process.kill(process.pid, 'SIGKILL');
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    if (line === 'forget') process.stdout.write(`forgot ${tree.forget()}\n`);
    else {
      const [command, ms] = line.split(' ');
      if (command === 'full' || command === 'roomy') tree.isFull = command === 'full';
      else if (command === 'slow') slowMs = Number(ms);
      else tree.isReadOnly = command === 'read-only';
      process.stdout.write(`${line}\n`);
    }
  })
  .on('close', end);
