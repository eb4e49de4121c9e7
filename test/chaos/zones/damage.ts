import { appendFile, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { invariant, type Random } from '@holdfast/platform';

const TORN_BYTES = 60;

/** The files of a server that hold entries: those of its streams and of its part in each group that elects leaders. */
async function blocksOf(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder, { recursive: true });
  const blocks: string[] = [];
  for (const name of found.filter((each) => each.endsWith('.blk')).toSorted()) {
    const file = path.join(folder, name);
    if ((await stat(file)).size > 0) blocks.push(file);
  }
  return blocks;
}

/** What a write leaves that was interrupted: the beginning of an entry that nobody has acknowledged. */
export async function tearEnd(folder: string, random: Random): Promise<void> {
  for (const file of await blocksOf(folder)) {
    const end = (await readFile(file)).subarray(-TORN_BYTES);
    await appendFile(file, end.subarray(0, 1 + random.int(end.length)));
  }
}

/** One bit of one file, anywhere. */
export async function flipBit(folder: string, random: Random): Promise<void> {
  const blocks = await blocksOf(folder);
  const file = blocks[random.int(Math.max(1, blocks.length))];
  invariant(file !== undefined, 'a server that has led or followed has files', { folder });
  const bytes = await readFile(file);
  const at = random.int(bytes.length);
  bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << random.int(8)), at);
  await writeFile(file, bytes);
}
