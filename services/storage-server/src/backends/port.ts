/** The bytes of one volume. What was never written reads as zeros. */
export interface VolumeData {
  read(offset: number, length: number): Promise<Buffer>;
  write(offset: number, bytes: Uint8Array): Promise<void>;
  /** Everything that was written before is durable when it resolves. */
  flush(): Promise<void>;
}

/** Where volumes and the greatest tokens seen are kept. One process uses it at a time. */
export interface VolumeBackend {
  /** Volumes that exist. */
  count(): number;
  exists(volume: string): boolean;
  /** Makes the volume when it does not exist. Rejects when its data or its token are lost. */
  open(volume: string): Promise<{ readonly token: number; readonly data: VolumeData }>;
  /** Durable when it resolves. Never goes back. */
  saveToken(volume: string, token: number): Promise<void>;
  close(): Promise<void>;
}
