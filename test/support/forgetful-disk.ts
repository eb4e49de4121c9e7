import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = resolve(import.meta.dirname, '../chaos/power/forgetful-main.ts');

/** A file system in memory that loses what was not synced when it is told to. */
export interface ForgetfulDisk extends AsyncDisposable {
  readonly folder: string;
  /** Ends nobody: kill who writes there before. Resolves with the bytes that are gone. */
  losePower(): Promise<number>;
  /** When it resolves, nothing that makes a file longer is written any more, or it is again. */
  fill(isFull: boolean): Promise<void>;
  /** When it resolves, nothing is changed any more, or it is again. */
  protect(isReadOnly: boolean): Promise<void>;
  /** From when it resolves, each sync takes so much longer. */
  slow(ms: number): Promise<void>;
}

/** Why this system cannot have one; `undefined` when it can. */
export function whyNoForgetfulDisk(): string | undefined {
  if (process.getuid?.() !== 0) return 'a file system that can forget needs root';
  return existsSync('/dev/fuse') ? undefined : 'a file system that can forget needs /dev/fuse';
}

export async function startForgetfulDisk(): Promise<ForgetfulDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-forgetful-'));
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [PROGRAM, folder], { stdio: 'pipe' });
  const ended = once(child, 'exit');
  let complaint = '';
  child.stderr.on('data', (text) => (complaint += String(text)));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => {
    const { done, value } = await lines.next();
    if (done === true) throw new Error(`the file system that can forget has ended: ${complaint}`);
    return value;
  };
  const dispose = async (): Promise<void> => {
    child.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  await nextLine().catch(async (error: unknown) => {
    await dispose();
    throw error;
  });
  const tell = async (command: string): Promise<void> => {
    child.stdin.write(`${command}\n`);
    await nextLine();
  };
  return {
    folder,
    losePower: async () => {
      child.stdin.write('forget\n');
      return Number((await nextLine()).split(' ')[1]);
    },
    fill: (isFull) => tell(isFull ? 'full' : 'roomy'),
    protect: (isReadOnly) => tell(isReadOnly ? 'read-only' : 'writable'),
    slow: (ms) => tell(`slow ${ms}`),
    [Symbol.asyncDispose]: dispose,
  };
}
