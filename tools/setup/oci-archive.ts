import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { arch } from 'node:os';

/** One entry of a layer. Owned by root by default. */
export type LayerEntry =
  | { readonly kind: 'directory'; readonly path: string; readonly mode?: number }
  | { readonly kind: 'file'; readonly path: string; readonly content: Uint8Array; readonly mode?: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

export interface OciImage {
  /** Full names, such as `docker.io/library/busybox:1.36`. */
  readonly names: readonly string[];
  readonly entries: readonly LayerEntry[];
  readonly config: Readonly<Record<string, unknown>>;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };
const MEDIA = 'application/vnd.oci.image';

/**
 * Writes images of one layer each as an OCI archive, which `ctr images import` reads, with the index that `docker load` of
 * every version reads. No registry is involved.
 */
export function writeOciArchive(file: string, images: readonly OciImage[]): void {
  const blobs = new Map<string, Buffer>();
  const put = (mediaType: string, content: Buffer): Descriptor => {
    const hex = createHash('sha256').update(content).digest('hex');
    blobs.set(`blobs/sha256/${hex}`, content);
    return { mediaType, digest: `sha256:${hex}`, size: content.length };
  };
  const json = (mediaType: string, value: unknown): Descriptor => put(mediaType, Buffer.from(JSON.stringify(value)));
  const described = images.map((image) => {
    const layer = put(`${MEDIA}.layer.v1.tar`, tar(image.entries));
    const config = json(`${MEDIA}.config.v1+json`, {
      architecture: ARCHITECTURES[arch()] ?? arch(),
      os: 'linux',
      config: image.config,
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    });
    const mediaType = `${MEDIA}.manifest.v1+json`;
    const manifest = json(mediaType, { schemaVersion: 2, mediaType, config, layers: [layer] });
    return { image, layer, config, manifest };
  });
  const manifests = described.flatMap(({ image, manifest }) =>
    image.names.map((name) => ({ ...manifest, annotations: { 'io.containerd.image.name': name } })),
  );
  const forDocker = described.map(({ image, layer, config }) => ({
    Config: blobPath(config),
    RepoTags: image.names,
    Layers: [blobPath(layer)],
  }));
  const text = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
  const files: LayerEntry[] = [
    { kind: 'file', path: 'oci-layout', content: text({ imageLayoutVersion: '1.0.0' }) },
    { kind: 'file', path: 'index.json', content: text({ schemaVersion: 2, manifests }) },
    { kind: 'file', path: 'manifest.json', content: text(forDocker) },
    ...[...blobs].map(([path, content]) => ({ kind: 'file', path, content }) as const),
  ];
  writeFileSync(file, tar(files));
}

const blobPath = ({ digest }: Descriptor): string => `blobs/${digest.replace(':', '/')}`;

const BLOCK = 512;

/** The format that every tar reads (ustar). The time of every entry is zero, so that the same files give the same digest. */
function tar(entries: readonly LayerEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = entry.kind === 'file' ? Buffer.from(entry.content) : Buffer.alloc(0);
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [header(entry, content.length), content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

const TYPES = { file: '0', link: '2', directory: '5' } as const;

function header(entry: LayerEntry, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const mode = entry.kind === 'link' ? 0o777 : (entry.mode ?? (entry.kind === 'directory' ? 0o755 : 0o644));
  const octal = (value: number, offset: number, length: number): void => {
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'latin1');
  };
  if (Buffer.byteLength(entry.path) > 100) throw new Error(`a path of a layer is too long: ${entry.path}`);
  block.write(entry.path, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write(TYPES[entry.kind], 156, 'latin1');
  if (entry.kind === 'link') block.write(entry.target, 157);
  block.write('ustar\u000000', 257, 'latin1');
  block.fill(' ', 148, 156);
  block.write(
    `${block
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
    'latin1',
  );
  return block;
}
