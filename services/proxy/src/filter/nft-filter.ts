import type { Clock, Random } from '@holdfast/platform';
import { NFT_TIMEOUT_MS } from '../limits.ts';
import { FAMILIES, type Table, type TableChange } from '../ruleset/model.ts';
import { renderChange, renderTable, TABLE } from '../ruleset/render.ts';
import type { PacketFilter } from './port.ts';
import { runProgram } from './run-program.ts';

/** A set with one number in it. It ends with the table, so it shows whose table this is. */
export const STAMP_SET = 'stamp';
const STAMP_MAX = 0x7fff_ffff;
/**
 * Before each transaction nft reads all chains and maps of the kernel into its memory. With large pages from the start
 * that takes half the time; other C libraries ignore the variable.
 */
const LARGE_PAGES = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864' };

/** One run of nft. */
export interface NftRun {
  readonly args: readonly string[];
  readonly input: string;
  readonly variables: Readonly<Record<string, string>>;
}

export interface NftFilterOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Default: `nft`. */
  readonly program?: string;
  /** Enters the network namespace: `['nsenter', '--net=/proc/1/ns/net']`. The program and its arguments follow. */
  readonly commandPrefix?: readonly string[];
  /** Runs nft where a prefix cannot reach. Default: a child of this process. */
  readonly run?: (nft: NftRun) => Promise<string>;
}

/** Runs nft once per transaction, with the script on standard input. */
export function createNftFilter(options: NftFilterOptions): PacketFilter {
  const { clock, random, program = 'nft', commandPrefix = [] } = options;
  const stamp = `0x${(1 + Math.floor(random.float() * (STAMP_MAX - 1))).toString(16).padStart(8, '0')}`;
  const runHere = ({ args, ...given }: NftRun): Promise<string> =>
    runProgram([...commandPrefix, program, ...args], { ...given, clock, timeoutMs: NFT_TIMEOUT_MS });
  const runNft = options.run ?? runHere;
  const run = (args: readonly string[], input: string) => runNft({ args, input, variables: LARGE_PAGES });
  const script = async (text: string): Promise<void> => {
    if (text !== '') await run(['-f', '-'], text);
  };
  const stampOf = (family: string): string =>
    `add set ${family} ${TABLE} ${STAMP_SET} { type mark ; }\nadd element ${family} ${TABLE} ${STAMP_SET} { ${stamp} }\n`;
  return {
    apply: (changes: readonly TableChange[]) => script(changes.map(renderChange).join('')),
    reset: (tables: readonly Table[]) =>
      script(tables.map((table) => `${renderTable(table)}${stampOf(table.family)}`).join('')),
    isIntact: async () => {
      const answers = FAMILIES.map((family) => run(['list', 'set', family, TABLE, STAMP_SET], '').catch(() => ''));
      return (await Promise.all(answers)).every((answer) => answer.includes(stamp));
    },
    remove: () =>
      script(FAMILIES.map((family) => `add table ${family} ${TABLE}\ndelete table ${family} ${TABLE}\n`).join('')),
  };
}
