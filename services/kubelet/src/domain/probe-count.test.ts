import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countProbe, NO_PROBE_YET, type ProbeVerdict } from './probe-count.ts';

test('[PROBE-16] thresholds count consecutive outcomes', () => {
  const verdicts = (outcomes: string, probe = {}): string => {
    let count = NO_PROBE_YET;
    return outcomes
      .split('')
      .map((letter) => {
        const outcome: ProbeVerdict = letter === 's' ? 'success' : 'failure';
        count = countProbe(count, outcome, probe);
        return count.verdict === undefined ? '-' : count.verdict === 'success' ? 'S' : 'F';
      })
      .join('');
  };
  assert.equal(verdicts('sfffs'), 'SSSFS');
  assert.equal(verdicts('ffsff'), '--SSS');
  assert.equal(verdicts('ssfs', { successThreshold: 2, failureThreshold: 1 }), '-SFF');
  assert.equal(verdicts('fff', { failureThreshold: 2 }), '-FF');
});
