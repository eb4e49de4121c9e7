import { parseImageName } from '../../domain/image-name.ts';

/** Engines shorten names of the default registry; Kubernetes shows them in full. */
export function fullImageName(name: string): string {
  const parsed = parseImageName(name);
  if (parsed === undefined) return name;
  const last = parsed.full.slice(parsed.full.lastIndexOf('/') + 1);
  const [, mark = ''] = /^[^:@]*([:@].*)$/.exec(last) ?? [];
  return `${parsed.registry}/${parsed.repository}${mark}`;
}

/** A name for `POST /images/create`: without a tag the engine would pull all of them. A digest wins over a tag. */
export function pullName(image: string): { readonly fromImage: string; readonly tag: string } {
  const [name = '', digest] = image.split('@');
  const slash = name.lastIndexOf('/');
  const colon = name.indexOf(':', slash + 1);
  const fromImage = colon < 0 ? name : name.slice(0, colon);
  return { fromImage, tag: digest ?? (colon < 0 ? 'latest' : name.slice(colon + 1)) };
}
