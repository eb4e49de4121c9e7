import { LOSSY_BUS, runPartitionScenario } from './partition-scenario.ts';

/** Prints the trace hash of one seed on a good or a lossy network: the determinism test compares two processes. */
const [network, seed] = process.argv.slice(2);
const { traceHash } = await runPartitionScenario({
  seed: Number(seed),
  ...(network === 'lossy' ? { busQuality: LOSSY_BUS } : {}),
});
process.stdout.write(`${traceHash}\n`);
process.exit(0);
