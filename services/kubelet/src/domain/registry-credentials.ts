import { ownValue } from '@holdfast/machinery';
import type { RegistryCredentials } from '../runtime/port-images.ts';
import type { ImageName } from './image-name.ts';

/** Logins of the pod's pull secrets that fit the image, the closest first. What cannot be read as a login is left out. */
export function credentialsFor(
  image: ImageName,
  secrets: readonly Readonly<Record<string, string>>[],
): readonly RegistryCredentials[] {
  const fitting = secrets.flatMap(readLogins).filter(({ server }) => fits(image, server));
  return fitting.toSorted((a, b) => locationOf(b.server).path.length - locationOf(a.server).path.length);
}

function readLogins(secret: Readonly<Record<string, string>>): readonly RegistryCredentials[] {
  const config = secret['.dockerconfigjson'];
  const old = secret['.dockercfg'];
  const entries = config === undefined ? parse(old ?? '') : objectAt(parse(config), 'auths');
  return Object.entries(entries).flatMap(([server, login]) => readLogin(server, login) ?? []);
}

function readLogin(server: string, login: unknown): RegistryCredentials | undefined {
  const text = (field: string): string => {
    const value = typeof login === 'object' && login !== null ? Reflect.get(login, field) : undefined;
    return typeof value === 'string' ? value : '';
  };
  const [user = '', ...password] = Buffer.from(text('auth'), 'base64').toString('utf8').split(':');
  const found = {
    server,
    username: text('username') === '' ? user : text('username'),
    password: text('password') === '' ? password.join(':') : text('password'),
    identityToken: text('identitytoken'),
  };
  return found.username === '' && found.identityToken === '' ? undefined : found;
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return {};
  }
}

const objectAt = (value: Readonly<Record<string, unknown>>, key: string): Readonly<Record<string, unknown>> =>
  asObject(ownValue(value, key));

const asObject = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

/** Same registry, also with `*` for parts of its name, and the path is a beginning of the repository. */
function fits({ registry, repository }: ImageName, server: string): boolean {
  const { host, path } = locationOf(server);
  const wanted = registry.split('.');
  const given = host.split('.');
  const sameHost = wanted.length === given.length && given.every((part, at) => isLike(part, wanted[at] ?? ''));
  return sameHost && (path === '' || repository === path || repository.startsWith(`${path}/`));
}

function isLike(pattern: string, text: string): boolean {
  const [before = '', after] = pattern.split('*', 2);
  if (after === undefined) return pattern === text;
  return text.length >= before.length + after.length && text.startsWith(before) && text.endsWith(after);
}

/** `https://index.docker.io/v1/` is how the default registry is written in most files. */
function locationOf(server: string): { readonly host: string; readonly path: string } {
  const [host = '', ...rest] = server.replace(/^https?:\/\//, '').split('/');
  const path = rest.filter((part) => part !== '').join('/');
  const isDefault = host === 'index.docker.io' || host === 'registry-1.docker.io';
  return { host: isDefault ? 'docker.io' : host, path: path === 'v1' || path === 'v2' ? '' : path };
}
