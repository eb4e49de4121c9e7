import { parseArgs } from 'node:util';
import type { SettingSpecs } from '@holdfast/platform/config';

/** The flags that are not `own`, in a form that another program reads: `--name=value`. The caller has checked them. */
export function flagsOfOthers(argv: readonly string[], own: SettingSpecs, others: SettingSpecs): readonly string[] {
  const options = Object.fromEntries(
    Object.entries({ ...others, ...own }).map(([name, { kind, short }]) => {
      const isBare = kind === 'boolean' && !argv.some((each) => each.startsWith(`--${name}=`));
      const type: 'boolean' | 'string' = isBare ? 'boolean' : 'string';
      return [name, short === undefined ? { type } : { type, short }];
    }),
  );
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true });
  return tokens.flatMap((token) => {
    if (token.kind !== 'option' || Object.hasOwn(own, token.name)) return [];
    return [token.value === undefined ? `--${token.name}` : `--${token.name}=${token.value}`];
  });
}

/** The value of a flag in the form above. The last one counts. */
export function valueOf(flags: readonly string[], name: string): string | undefined {
  const start = `--${name}=`;
  return flags.findLast((flag) => flag.startsWith(start))?.slice(start.length);
}

/** True when these flags, in the form above, start a server without this part. */
export const leavesOut = (flags: readonly string[], part: string): boolean =>
  (valueOf(flags, 'without') ?? '').split(',').some((each) => each.trim() === part);
