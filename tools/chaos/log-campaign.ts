// `npm run chaos -- --log KIND,... --times N`: plays faults on three zones of a replicated log without containers: NATS servers
// as processes, a store for each zone, and ways between zones that can fall silent.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runCampaign } from '../../test/chaos/zones/campaign.ts';
import { FAULTS, type FaultName } from '../../test/chaos/zones/faults.ts';
import { formatSlices, type Slice } from '../../test/chaos/zones/report.ts';
import { ensurePrograms } from '../setup/packages.ts';
import { appendLine, readLines } from './json-lines.ts';

export const LOG_USAGE = `       npm run chaos -- --log KIND,... --times N [--seed SEED] [--replicas 1] [--slices FILE]
         plays each fault N times under load, and judges every history
${Object.entries(FAULTS)
  .map(([name, { about }]) => `         ${name}: ${about}\n`)
  .join('')}       --replicas 1: the negative control
       --slices: adds what was played to this file, and reports all that is in it
`;

/** Resolves with the exit code. */
export async function runLogCampaigns(argv: readonly string[], say: (text: string) => void): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      log: { type: 'string', default: '' },
      times: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
      replicas: { type: 'string', default: '3' },
      slices: { type: 'string' },
    },
  });
  const kinds = values.log === 'all' ? namesOfFaults() : values.log.split(',').map(faultOf);
  const [times, seed] = [Number(values.times), Number(values.seed)];
  if (!Number.isSafeInteger(times) || times < 1 || !Number.isSafeInteger(seed))
    throw new Error('--times and --seed take whole numbers');
  ensurePrograms(['nats-server-next']);
  process.env['PATH'] = `${process.env['PATH']}:${path.resolve(import.meta.dirname, '../../.toolchain/bin')}`;
  const file = values.slices === undefined ? undefined : path.resolve(process.env['INIT_CWD'] ?? '.', values.slices);
  const slices: Slice[] = [];
  const onSlice = (slice: Slice): void => {
    slices.push(slice);
    if (file !== undefined) appendLine(file, slice);
    const longest = Math.max(...slice.unavailableMs, 0);
    say(`${slice.kind}: ${slice.unavailableMs.length} times, longest ${Math.round(longest)} ms without a write`);
  };
  const replicas = values.replicas === '1' ? 1 : 3;
  for (const kind of kinds) await runCampaign({ kind, times, seed, replicas, onSlice });
  say(formatSlices(file === undefined ? slices : readLines<Slice>(file)));
  return slices.some(({ broken }) => broken.length > 0) ? 1 : 0;
}

const isFault = (name: string): name is FaultName => Object.hasOwn(FAULTS, name);
const namesOfFaults = (): readonly FaultName[] => Object.keys(FAULTS).filter(isFault);

function faultOf(name: string): FaultName {
  if (isFault(name)) return name;
  throw new Error(`--log ${name} is unknown`);
}
