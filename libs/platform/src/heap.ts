import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Large enough that the garbage of a request dies young. A larger value costs memory and gains nothing
 * (docs/performance.md).
 */
const SEMI_SPACE_MB = 8;
/** V8 collects old objects after they have grown by this much. By itself it waits for up to four times as much. */
const GROWING_PERCENT = 40;
const BYTES_PER_MB = 1024 * 1024;
/**
 * By this time the modules are loaded. They never die young, so a larger young generation would only cost while
 * loading.
 */
const FIRST_LOOK_MS = 1_000;
/** V8 returns young memory while the process rests. Then the young generation may grow again. */
const LOOK_AGAIN_MS = 5_000;

/**
 * Limits the heap of a server. V8's own limits follow the memory of the machine and use several times the live size.
 * Call this first in the process. The speed that a larger heap gains is within the noise (docs/performance.md).
 */
export function limitHeap(semiSpaceMb = SEMI_SPACE_MB, firstLookMs = FIRST_LOOK_MS): void {
  setFlagsFromString(`--heap-growing-percent=${GROWING_PERCENT}`);
  limitYoungGeneration(semiSpaceMb, firstLookMs);
}

/**
 * Keeps the young generation near two halves of `semiSpaceMb`. On a machine with much memory V8 lets it grow to 128 MB
 * in a process that makes garbage quickly, and keeps that size; beyond some megabytes it gains nothing here. The flag
 * that limits it works only on Node's command line, which this program does not write. So this function switches the
 * growth off and on.
 */
function limitYoungGeneration(semiSpaceMb: number, firstLookMs: number): void {
  const limit = 2 * semiSpaceMb * BYTES_PER_MB;
  let mayGrow = false;
  const observer = new PerformanceObserver(() => look());
  const look = (): void => {
    const grow = youngBytes() < limit;
    if (grow === mayGrow) return;
    mayGrow = grow;
    setGrowthFactor(grow ? 2 : 1);
    if (grow) observer.observe({ entryTypes: ['gc'] });
    else observer.disconnect();
  };
  setGrowthFactor(1);
  setTimeout(() => {
    look();
    setInterval(look, LOOK_AGAIN_MS).unref();
  }, firstLookMs).unref();
}

const setGrowthFactor = (factor: number): void => setFlagsFromString(`--semi-space-growth-factor=${factor}`);

function youngBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? 0;
}
