/**
 * The environment of a container on its way through programs that run as root. It travels as values of variables that mean nothing
 * to anybody; a shell that runs as the container's user unpacks them (`UNPACK_ENVIRONMENT`).
 */
const PLAIN = 'HOLDFAST_CARRIED';
/** Variables that a shell cannot set: `env` passes them to the command. */
const SPECIAL = 'HOLDFAST_SPECIAL';

export function carryEnvironment(environment: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(environment).filter(([name]) => name !== '' && !name.includes('='));
  const [plain, special] = [entries.filter(([name]) => isPlain(name)), entries.filter(([name]) => !isPlain(name))];
  return { ...packed(PLAIN, plain), ...packed(SPECIAL, special) };
}

const packed = (prefix: string, entries: readonly (readonly [string, string])[]): Record<string, string> => ({
  ...Object.fromEntries(entries.map(([name, value], index) => [`${prefix}_${index}`, `${name}=${value}`])),
  [prefix]: String(entries.length),
});

/** Names that shells reserve, as read-only variables or with restricted values. */
const OF_SHELLS =
  /^(?:_|UID|EUID|PPID|GROUPS|OPTIND|OPTARG|OPTERR|LINENO|RANDOM|SECONDS|SHELLOPTS|BASH.*|DIRSTACK|FUNCNAME|HIST.*|IFS|PS[0-9])$/;
const OWN = /^(?:holdfast_|HOLDFAST_(?:CARRIED|SPECIAL)(?:_|$))/;

const isPlain = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !OF_SHELLS.test(name) && !OWN.test(name);

/** Lines of a shell that runs as the container's user. Afterwards `$holdfast_env` is what runs the command in `"$@"`. */
export const UNPACK_ENVIRONMENT = [
  'unset SHELL LC_ALL',
  'holdfast_i=0',
  `while [ "$holdfast_i" -lt "$${PLAIN}" ]; do eval "export \\"\\$${PLAIN}_$holdfast_i\\"; unset ${PLAIN}_$holdfast_i"; holdfast_i=$((holdfast_i+1)); done`,
].join('\n');

/** After the last look at the command itself: `env` takes its place in `"$@"` where a shell cannot set a variable, whose name may begin with `-`. */
export const ADD_SPECIAL = (env: string): string =>
  [
    'holdfast_env=',
    `while [ "$${SPECIAL}" -gt 0 ]; do ${SPECIAL}=$((${SPECIAL}-1)); eval "set -- \\"\\$${SPECIAL}_$${SPECIAL}\\" \\"\\$@\\"; unset ${SPECIAL}_$${SPECIAL}"; holdfast_env='${env} --'; done`,
    `unset holdfast_i ${PLAIN} ${SPECIAL}`,
  ].join('\n');
