import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Enough that a request's garbage dies young; more costs memory and gains nothing (docs/performance.md). */
const SEMI_SPACE_MB = 8;
/** Old objects are collected when they have grown by this much since the last time; V8 alone waits for up to four times as much. */
const GROWING_PERCENT = 40;
const BYTES_PER_MB = 1024 * 1024;
/** Modules are loaded by then: nothing of them dies young, so a larger young generation would only cost. */
const FIRST_LOOK_MS = 1_000;
/** V8 gives young memory back when the process rests for a while; then it may grow again. */
const LOOK_AGAIN_MS = 5_000;

/**
 * For a server: V8's own limits follow the memory of the machine, and take several times what is in use. To be called first
 * of all; what a large heap gains in speed by more is within the noise (docs/performance.md).
 */
export function limitHeap(semiSpaceMb = SEMI_SPACE_MB, firstLookMs = FIRST_LOOK_MS): void {
  setFlagsFromString(`--heap-growing-percent=${GROWING_PERCENT}`);
  limitYoungGeneration(semiSpaceMb, firstLookMs);
}

/**
 * Keeps the young generation near two halves of `semiSpaceMb`. On a machine with much memory V8 lets it grow to
 * 128 MB in a process that makes garbage quickly, and keeps that; beyond some megabytes it buys nothing here. The flag that
 * limits it works only on the command line of Node, which whoever starts us writes; so growing is switched off and on.
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
