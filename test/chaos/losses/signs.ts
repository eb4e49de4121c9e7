/** A line that the process of an identity writes itself into the file of its identity. */
export interface Sign {
  readonly atMs: number;
  readonly pod: string;
  readonly uid: string;
  readonly node: string;
  readonly pid: string;
  /**
   * `wrote`: the storage server has acknowledged a record; `refused`: it has refused one of this writer; `stopping`: it
   * is told to end; `stopped`: it has had the time to end by itself.
   */
  readonly what: 'beat' | 'wrote' | 'refused' | 'stopping' | 'stopped';
  /** The number of the record in the volume. */
  readonly record: number;
}

/** A line that is still being written is left out. */
export function parseSigns(text: string): readonly Sign[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [atMs, pod = '', uid = '', node = '', pid = '', what, record] = line.split(' ');
      return { atMs: Number(atMs), pod, uid, node, pid, what: what as Sign['what'], record: Number(record) };
    });
}

export const lifeOf = ({ uid, node, pid }: Sign): string => `${uid} on ${node} (process ${pid})`;

/** The record of a volume: a line of this length with the uid of its writer and its number. */
export const RECORD_BYTES = 64;

/** Writers by record, up to the first that was never written. */
export function parseRecords(volume: Buffer): readonly string[] {
  const records: string[] = [];
  for (let at = 0; at + RECORD_BYTES <= volume.length && volume[at] !== 0; at += RECORD_BYTES)
    records.push(volume.toString('utf8', at, at + RECORD_BYTES).split(' ')[0] ?? '');
  return records;
}
