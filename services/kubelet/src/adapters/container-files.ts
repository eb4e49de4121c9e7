import { chmod, chown, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Owner } from '../domain/volume-owner.ts';

/** Written once and never replaced: containers hold the file itself, not its name. */
export async function writeOnce(
  path: string,
  text: string,
  { mode, owner }: { readonly mode: number; readonly owner?: Owner | undefined },
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  try {
    await writeFile(path, text, { flag: 'wx', mode });
    // Readable for any user of the container: the umask of this process must not remove that.
    await chmod(path, mode);
    if (owner?.isShifted === true) await chown(path, owner.uid, owner.gid);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}

/**
 * The same file with other contents: containers hold the file, not its name. A container that has added lines to it loses them when
 * the next one starts, as in Kubernetes.
 */
export async function writeInPlace(
  path: string,
  text: string,
  given: { readonly mode: number; readonly owner?: Owner | undefined },
): Promise<void> {
  await writeOnce(path, text, given);
  if (!(await holds(path, text))) await writeFile(path, text);
}

/** A pod may have made the file large: it is read only when it has the length. */
async function holds(path: string, text: string): Promise<boolean> {
  const { size } = await stat(path);
  return size === Buffer.byteLength(text) && (await readFile(path, 'utf8')) === text;
}

/** '' where the machine does not have it. */
export async function readMachineText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return '';
    throw error;
  }
}

/** The first or the last bytes of a file; none when there is no file. */
export async function readEdge(path: string, edge: 'head' | 'tail', maxBytes: number): Promise<Uint8Array> {
  try {
    const { size } = await stat(path);
    const length = Math.min(size, maxBytes);
    await using file = await open(path, 'r');
    const { bytesRead, buffer } = await file.read(
      new Uint8Array(length),
      0,
      length,
      edge === 'head' ? 0 : size - length,
    );
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return new Uint8Array();
    throw error;
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
