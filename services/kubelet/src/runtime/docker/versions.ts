import { RuntimeError } from '../port.ts';
import type { EngineVersion } from './engine-types.ts';

/** The newest version of the Engine API that this client knows. */
const NEWEST: Version = [1, 47];
/** Older engines cannot measure a container at once. */
const OLDEST: Version = [1, 41];

type Version = readonly [major: number, minor: number];

/** The first part of every path: the newest version that both sides know. */
export function apiVersion({ ApiVersion, MinAPIVersion, Version: engine }: EngineVersion): string {
  const theirs = parse(ApiVersion);
  const least = parse(MinAPIVersion ?? ApiVersion);
  const chosen = isOlder(theirs, NEWEST) ? theirs : NEWEST;
  if (isOlder(chosen, OLDEST))
    throw unsupported(
      `the Docker engine ${engine} is too old: it speaks API ${ApiVersion}, and 1.41 is the oldest that works`,
    );
  if (isOlder(chosen, least))
    throw unsupported(
      `the Docker engine ${engine} is too new: it speaks API ${MinAPIVersion} or later, and 1.47 is the newest known here`,
    );
  return `/v${chosen.join('.')}`;
}

/** Podman serves the same API and says so. */
export const isPodman = ({ Components }: Pick<EngineVersion, 'Components'>): boolean =>
  (Components ?? []).some(({ Name }) => /podman/i.test(Name));

function parse(text: string): Version {
  const [major = 0, minor = 0] = text.split('.').map(Number);
  return [major, minor];
}

const isOlder = ([major, minor]: Version, [otherMajor, otherMinor]: Version): boolean =>
  major < otherMajor || (major === otherMajor && minor < otherMinor);

const unsupported = (message: string): RuntimeError => new RuntimeError('Unsupported', message);
