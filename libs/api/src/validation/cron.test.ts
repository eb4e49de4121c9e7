import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cronScheduleError } from './cron.ts';

test('valid cron schedules', () => {
  const schedules = [
    '* * * * *',
    '*/5 0-6,22 1 JAN-mar Mon',
    '0 0 ? * 6',
    '@daily',
    '@every 1h30m',
    'TZ=Europe/Berlin 0 0 * * *',
    '  0   0 * * *  ',
  ];
  for (const schedule of schedules) assert.equal(cronScheduleError(schedule), undefined, schedule);
});

test('an error in a schedule has the text of the upstream parser', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['', 'empty spec string'],
    ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['5-2 * * * *', 'beginning of range (5) beyond end of range (2): 5-2'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    [
      '9223372036854775808 * * * *',
      'failed to parse int from 9223372036854775808: strconv.Atoi: parsing "9223372036854775808": value out of range',
    ],
    ['@fortnightly', 'unrecognized descriptor: @fortnightly'],
    [
      '* * * constructor *',
      'failed to parse int from constructor: strconv.Atoi: parsing "constructor": invalid syntax',
    ],
    ['@every soon', 'failed to parse duration @every soon: time: invalid duration "soon"'],
  ];
  for (const [schedule, text] of cases) assert.equal(cronScheduleError(schedule), text);
});
