import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SettingSpecs } from '@holdfast/platform/config';
import { flagsOfOthers, leavesOut } from './start-flags.ts';

const OWN = {
  name: { kind: 'string', help: '' },
  detach: { kind: 'boolean', short: 'd', help: '' },
} as const satisfies SettingSpecs;
const OTHERS = {
  nodes: { kind: 'integer', help: '' },
  memory: { kind: 'boolean', help: '' },
  without: { kind: 'list', help: '' },
} as const satisfies SettingSpecs;

test('the flags of another program are told apart in each form', () => {
  const cases: readonly (readonly [readonly string[], readonly string[]])[] = [
    [[], []],
    [['-d', '--name', 'a'], []],
    [
      ['-d', '--nodes', '3', '--memory'],
      ['--nodes=3', '--memory'],
    ],
    [
      ['--memory=false', '--name=b', '--without=a,b'],
      ['--memory=false', '--without=a,b'],
    ],
    [
      ['--nodes', '1', '--nodes=2'],
      ['--nodes=1', '--nodes=2'],
    ],
  ];
  for (const [argv, expected] of cases) assert.deepEqual(flagsOfOthers(argv, OWN, OTHERS), expected, argv.join(' '));
});

test('the parts that flags leave out are those of the last list', () => {
  const cases: readonly (readonly [readonly string[], boolean])[] = [
    [[], false],
    [['--memory', '--without=proxy, console'], true],
    [['--without=console', '--without=proxy'], false],
    [['--audit-log=console'], false],
  ];
  for (const [flags, expected] of cases) assert.equal(leavesOut(flags, 'console'), expected, flags.join(' '));
});
