import { type FieldError, forbidden, invalid, required } from '@holdfast/machinery';
import type { ProjectedVolumeSource, ServiceAccountTokenProjection, VolumeProjection } from '../../generated/types.ts';
import { validateRequiredText } from '../check.ts';
import { TOKEN_EXPIRATION_SECONDS_MAX, TOKEN_EXPIRATION_SECONDS_MIN } from '../limits.ts';
import { validateFileMode, validateLocalPath } from '../paths.ts';
import { validateDownwardFile, validateKeyToPath } from './volume-files.ts';

export function validateProjected(out: FieldError[], path: string, volume: Readonly<ProjectedVolumeSource>): void {
  validateFileMode(out, `${path}.defaultMode`, volume.defaultMode);
  const paths = new Set<string>();
  for (const [i, source] of (volume.sources ?? []).entries()) {
    validateSource(out, path, source, { at: `${path}.sources[${i}]`, paths });
  }
}

interface Place {
  readonly at: string;
  /** Paths that earlier sources use. */
  readonly paths: Set<string>;
}

function validateSource(out: FieldError[], path: string, source: Readonly<VolumeProjection>, place: Place): void {
  const { at, paths } = place;
  for (const key of ['secret', 'configMap'] as const) {
    const projection = source[key];
    if (projection === undefined) continue;
    validateRequiredText(out, `${at}.${key}.name`, projection.name);
    for (const [i, item] of (projection.items ?? []).entries()) {
      validateKeyToPath(out, `${at}.${key}.items[${i}]`, item);
      claimPath(out, path, item.path, { paths, shown: projection.name ?? '' });
    }
  }
  for (const file of source.downwardAPI?.items ?? []) {
    validateDownwardFile(out, `${at}.downwardAPI`, file);
    claimPath(out, path, file.path, { paths, shown: file.path });
  }
  if (source.serviceAccountToken !== undefined) {
    validateToken(out, path, `${at}.serviceAccountToken`, source.serviceAccountToken);
  }
  if (Object.keys(source).length > 1) {
    out.push(forbidden(at, 'may not specify more than 1 volume type per source'));
  }
}

function claimPath(
  out: FieldError[],
  path: string,
  target: string | undefined,
  { paths, shown }: { readonly paths: Set<string>; readonly shown: string },
): void {
  if (!target) return;
  if (paths.has(target)) out.push(invalid(path, shown, 'conflicting duplicate paths'));
  paths.add(target);
}

function validateToken(
  out: FieldError[],
  path: string,
  at: string,
  token: Readonly<ServiceAccountTokenProjection>,
): void {
  const seconds = token.expirationSeconds ?? 0;
  if (seconds < TOKEN_EXPIRATION_SECONDS_MIN) {
    out.push(invalid(`${at}.expirationSeconds`, seconds, 'may not specify a duration less than 10 minutes'));
  }
  if (seconds > TOKEN_EXPIRATION_SECONDS_MAX) {
    out.push(invalid(`${at}.expirationSeconds`, seconds, 'may not specify a duration larger than 2^32 seconds'));
  }
  if (!token.path) out.push(required(`${path}.path`));
  else validateLocalPath(out, `${path}.path`, token.path);
}
