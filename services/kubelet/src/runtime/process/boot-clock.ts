import { uptime } from 'node:os';

/**
 * Milliseconds of a clock that includes suspend (`CLOCK_BOOTTIME` from `/proc/uptime`, in steps of 10 ms). Every
 * process of the machine reads the same value.
 */
export const bootTimeMs = (): number => uptime() * 1000;
