import { uptime } from 'node:os';

/**
 * Milliseconds of a clock that runs through suspend (`CLOCK_BOOTTIME`, as `/proc/uptime` tells it, in steps of 10 ms). Every process of the
 * machine reads the same.
 */
export const bootTimeMs = (): number => uptime() * 1000;
