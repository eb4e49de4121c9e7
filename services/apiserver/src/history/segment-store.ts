/** Where segments are kept. Names sort as their revisions do. */
export interface SegmentStore {
  /** True when they outlive the process: only then its end waits for the last segment. */
  readonly isLasting: boolean;
  /** Creates what is missing, and removes what an earlier process left half written. */
  open(): Promise<void>;
  list(): Promise<readonly StoredSegment[]>;
  /** Fewer bytes than asked for at the end. */
  read(name: string, at: number, length: number): Promise<Buffer>;
  /** Complete or not at all. */
  write(name: string, bytes: Buffer): Promise<void>;
  /** Nothing happens when it is gone. */
  remove(name: string): Promise<void>;
}

export interface StoredSegment {
  readonly name: string;
  readonly bytes: number;
}

/** The history of a process: it ends with it. */
export function createMemorySegments(): SegmentStore {
  const segments = new Map<string, Buffer>();
  return {
    isLasting: false,
    open: async () => {},
    list: async () => [...segments].map(([name, { length }]) => ({ name, bytes: length })),
    read: async (name, at, length) => {
      const bytes = segments.get(name);
      if (bytes === undefined) throw new Error(`no segment ${name}`);
      return bytes.subarray(at, at + length);
    },
    write: async (name, bytes) => void segments.set(name, bytes),
    remove: async (name) => void segments.delete(name),
  };
}
