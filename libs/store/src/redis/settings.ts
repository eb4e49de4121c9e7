/** Required server settings, and why any other value loses acknowledged writes or objects. */
const REQUIRED = [
  { name: 'appendonly', value: 'yes', why: 'without the append-only file nothing survives a restart' },
  { name: 'appendfsync', value: 'always', why: 'otherwise a write is acknowledged before it is on the disk' },
  { name: 'no-appendfsync-on-rewrite', value: 'no', why: 'otherwise fsync is skipped while the file is rewritten' },
  { name: 'aof-load-truncated', value: 'yes', why: 'otherwise a torn last record keeps the server from starting' },
  { name: 'maxmemory-policy', value: 'noeviction', why: 'otherwise objects are deleted when memory is short' },
  { name: 'save', value: '', why: 'snapshots beside the append-only file only cost time' },
  { name: 'io-threads', value: '1', why: 'only with one thread replies are known to leave after the fsync' },
] as const;

/** Returns one sentence per wrong setting, with the command that corrects it. Pure. */
export function unsafeSettings(config: ReadonlyMap<string, string>): string[] {
  return REQUIRED.flatMap(({ name, value, why }) => {
    const found = config.get(name);
    if (found === value) return [];
    const shown = found === undefined ? 'cannot be read' : `is "${found}"`;
    return [`${name} ${shown} and must be "${value}": ${why}`];
  });
}

const OLDEST_MAJOR = 7;

/** The fields in the output of INFO. */
export const fieldsOf = (info: string): ReadonlyMap<string, string> =>
  new Map(
    info.split(/\r?\n/).map((line): [string, string] => {
      const cut = line.indexOf(':');
      return [line.slice(0, cut), line.slice(cut + 1)];
    }),
  );

/** Returns everything in the output of INFO that prevents the store from serving. Pure. */
export function unfitServer(info: string): string[] {
  const fields = fieldsOf(info);
  const wrong: string[] = [];
  const version = fields.get('redis_version') ?? '';
  // Older ones report lack of memory inside a script as a failure of the script, of which nobody knows what it has done.
  if (version !== '' && Number.parseInt(version) < OLDEST_MAJOR)
    wrong.push(`the server is Redis ${version} and must be ${OLDEST_MAJOR} or newer`);
  if (fields.get('role') !== 'master') wrong.push(`the server is a ${fields.get('role') ?? 'stranger'}, not a master`);
  if (fields.get('loading') !== '0') wrong.push('the server is still loading its data');
  if (fields.get('aof_enabled') === '1' && fields.get('aof_last_write_status') !== 'ok') {
    wrong.push('the last write to the append-only file failed');
  }
  return wrong;
}

export const SETTING_NAMES: readonly string[] = REQUIRED.map(({ name }) => name);
