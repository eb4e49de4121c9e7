export interface TarFile {
  /** At most 100 bytes. */
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
}

const BLOCK = 512;
const CHECKSUM = { offset: 148, length: 8 } as const;

/** Files of root without a time, so that the same files give the same bytes (ustar). */
export function tar(files: readonly TarFile[]): Buffer {
  const blocks = files.flatMap((file) => {
    const padding = Buffer.alloc((BLOCK - (file.content.length % BLOCK)) % BLOCK);
    return [header(file), file.content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function header({ path, content, mode }: TarFile): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, length: number): void => {
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'latin1');
  };
  block.write(path, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(content.length, 124, 12);
  octal(0, 136, 12);
  block.write('0', 156, 'latin1');
  block.write('ustar\u000000', 257, 'latin1');
  block.fill(' ', CHECKSUM.offset, CHECKSUM.offset + CHECKSUM.length);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, CHECKSUM.offset, 'latin1');
  return block;
}
