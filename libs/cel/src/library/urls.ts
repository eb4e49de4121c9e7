import { traverses } from '../estimates.ts';
import { type Functions, FunctionTable, signature } from '../overload.ts';
import { BOOL, listOf, mapOf, opaque, STRING } from '../types.ts';
import { ArrayList, type CelValue, EntryMap, EvaluationError, OpaqueValue } from '../values.ts';

export const URL_TYPE = opaque('kubernetes.URL');

interface Parts {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

class UrlValue extends OpaqueValue {
  readonly opaqueName = 'kubernetes.URL';
  readonly text: string;
  readonly parts: Parts;
  constructor(text: string, parts: Parts) {
    super();
    this.text = text;
    this.parts = parts;
  }
  override equals(other: OpaqueValue): boolean {
    return other instanceof UrlValue && this.text === other.text;
  }
}

// oxlint-disable-next-line no-control-regex -- Go refuses them
const CONTROL = /[\u0000-\u001f\u007f]/;
const SYNTAX = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s;
const AUTHORITY = /^\/\/([^/?]*)(.*)$/s;
const BAD_ESCAPE = /%(?![0-9a-fA-F]{2})/;
const HOST = /^(?:\[[0-9A-Fa-f:.%a-z]+\]|[^[\]<>" ]*?)(?::\d*)?$/;

/** Parses an absolute URL or an absolute path, as a server parses the target of a request. */
function parseUrl(text: string): Parts | undefined {
  if (text === '' || CONTROL.test(text)) return undefined;
  const absolute = SYNTAX.exec(text);
  const scheme = (absolute?.[1] ?? '').toLowerCase();
  const rest = absolute?.[2] ?? text;
  if (absolute === null && !text.startsWith('/')) return undefined;
  if (!rest.startsWith('/')) return undefined;
  const authority = absolute === null && !rest.startsWith('///') ? null : AUTHORITY.exec(rest);
  const location = authority === null ? rest : (authority[2] ?? '');
  const host = (authority?.[1] ?? '').replace(/^[^@]*@/, '');
  if (!HOST.test(host) || BAD_ESCAPE.test(host)) return undefined;
  const question = location.indexOf('?');
  const path = question === -1 ? location : location.slice(0, question);
  if (BAD_ESCAPE.test(path)) return undefined;
  return { scheme, host, path, query: question === -1 ? '' : location.slice(question + 1) };
}

function urlOf(text: string): UrlValue {
  const parts = parseUrl(text);
  if (parts === undefined)
    throw new EvaluationError(
      `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
    );
  return new UrlValue(text, parts);
}

const partsOf = (value: CelValue | undefined): Parts => (value as UrlValue).parts;

function hostname(host: string): string {
  const bare = host.replace(/:\d*$/, '');
  return bare.startsWith('[') ? bare.slice(1, -1) : bare;
}

function port(host: string): string {
  return /:(\d*)$/.exec(host.replace(/^\[.*\]/, ''))?.[1] ?? '';
}

/** Escapes the characters that are not allowed in a path. */
function escapedPath(path: string): string {
  return path.replace(/[^A-Za-z0-9\-_.~$&+,/:;=@!'()*%]/gu, (char) => encodeURIComponent(char.toWellFormed()));
}

function queryMap(query: string): CelValue {
  const values = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const equal = pair.indexOf('=');
    const key = unescape(equal === -1 ? pair : pair.slice(0, equal));
    const value = unescape(equal === -1 ? '' : pair.slice(equal + 1));
    if (key === undefined || value === undefined) continue;
    const known = values.get(key);
    if (known === undefined) values.set(key, [value]);
    else known.push(value);
  }
  const map = new EntryMap();
  for (const [key, list] of values) map.set(key, new ArrayList(list));
  return map;
}

function unescape(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

export const URLS: Functions = new FunctionTable()
  .global('url', 'string_to_url', signature([STRING], URL_TYPE), ([text]) => urlOf(text as string), traverses(0))
  .global('isURL', 'is_url_string', signature([STRING], BOOL), ([text]) => parseUrl(text as string) !== undefined)
  .global('string', 'url_to_string', signature([URL_TYPE], STRING), ([url]) => (url as UrlValue).text)
  .member('getScheme', 'url_get_scheme', signature([URL_TYPE], STRING), ([url]) => partsOf(url).scheme)
  .member('getHost', 'url_get_host', signature([URL_TYPE], STRING), ([url]) => partsOf(url).host)
  .member('getHostname', 'url_get_hostname', signature([URL_TYPE], STRING), ([url]) => hostname(partsOf(url).host))
  .member('getPort', 'url_get_port', signature([URL_TYPE], STRING), ([url]) => port(partsOf(url).host))
  .member('getEscapedPath', 'url_get_escaped_path', signature([URL_TYPE], STRING), ([url]) =>
    escapedPath(partsOf(url).path),
  )
  .member('getQuery', 'url_get_query', signature([URL_TYPE], mapOf(STRING, listOf(STRING))), ([url]) =>
    queryMap(partsOf(url).query),
  )
  .build();
