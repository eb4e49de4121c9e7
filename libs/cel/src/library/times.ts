import { type Functions, FunctionTable, signature } from '../overload.ts';
import { DURATION, INT, STRING, TIMESTAMP } from '../types.ts';
import { type Duration, NANOS_PER_SECOND, type Timestamp } from '../values.ts';
import { type Moment, momentOf } from './calendar.ts';

const table = new FunctionTable();

const PARTS: readonly (readonly [string, (moment: Moment) => number])[] = [
  ['getFullYear', (moment) => moment.year],
  ['getMonth', (moment) => moment.month],
  ['getDayOfYear', (moment) => moment.dayOfYear],
  ['getDayOfMonth', (moment) => moment.day - 1],
  ['getDate', (moment) => moment.day],
  ['getDayOfWeek', (moment) => moment.weekday],
  ['getHours', (moment) => moment.hours],
  ['getMinutes', (moment) => moment.minutes],
  ['getSeconds', (moment) => moment.seconds],
  ['getMilliseconds', (moment) => moment.milliseconds],
];

for (const [name, part] of PARTS) {
  table
    .member(name, `timestamp_to_${name}`, signature([TIMESTAMP], INT), ([time]) =>
      BigInt(part(momentOf(time as Timestamp, undefined))),
    )
    .member(name, `timestamp_to_${name}_with_tz`, signature([TIMESTAMP, STRING], INT), ([time, zone]) =>
      BigInt(part(momentOf(time as Timestamp, zone as string))),
    );
}

const SPANS: readonly (readonly [string, (nanos: bigint) => bigint])[] = [
  ['getHours', (nanos) => nanos / (3_600n * NANOS_PER_SECOND)],
  ['getMinutes', (nanos) => nanos / (60n * NANOS_PER_SECOND)],
  ['getSeconds', (nanos) => nanos / NANOS_PER_SECOND],
  ['getMilliseconds', (nanos) => (nanos % NANOS_PER_SECOND) / 1_000_000n],
];

for (const [name, span] of SPANS) {
  table.member(name, `duration_to_${name}`, signature([DURATION], INT), ([duration]) =>
    span((duration as Duration).nanos),
  );
}

export const TIMES: Functions = table.build();
