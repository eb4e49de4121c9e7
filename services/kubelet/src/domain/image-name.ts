/** Parts of an image's name, with everything filled in that may be left out. */
export interface ImageName {
  /** The name for the runtime: the pod's image with a tag. */
  readonly full: string;
  /** `docker.io`, `registry.example:5000`. */
  readonly registry: string;
  /** `library/busybox`. */
  readonly repository: string;
}

const DOMAIN = /^(?:localhost|[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+|[a-zA-Z0-9-]+(?=:\d+$)|\[[0-9a-fA-F:]+\])(?::\d+)?$/;
const PATH = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const DEFAULT_REGISTRY = 'docker.io';
const NAME_MAX = 255;

/** `undefined`: no image can have this name. */
export function parseImageName(text: string): ImageName | undefined {
  const [withTag, digest] = split(text, '@');
  if (digest !== undefined && !DIGEST.test(digest)) return undefined;
  const slash = withTag.lastIndexOf('/');
  const [last, tag] = split(withTag.slice(slash + 1), ':');
  if (tag !== undefined && !TAG.test(tag)) return undefined;
  const name = `${withTag.slice(0, slash + 1)}${last}`;
  const [first = '', ...rest] = name.split('/');
  const hasDomain = rest.length > 0 && DOMAIN.test(first);
  const path = hasDomain ? rest : [first, ...rest];
  if (!path.every((part) => PATH.test(part)) || name.length > NAME_MAX) return undefined;
  const registry = hasDomain ? first : DEFAULT_REGISTRY;
  const isOfficial = registry === DEFAULT_REGISTRY && path.length === 1;
  return {
    full: tag === undefined && digest === undefined ? `${text}:latest` : text,
    registry: registry === 'index.docker.io' ? DEFAULT_REGISTRY : registry,
    repository: isOfficial ? `library/${path.join('/')}` : path.join('/'),
  };
}

function split(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
