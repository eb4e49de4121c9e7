export { type ClockUnderTest, clockContract } from './clock.ts';
export { type EventuallyOptions, eventually } from './eventually.ts';
export { type LogUnderTest, logContract } from './log.ts';
export { randomContract } from './random.ts';
