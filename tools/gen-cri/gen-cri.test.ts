import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { digestLine } from './digest.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../services/kubelet/src/runtime/cri');

test('the messages of the container runtime interface match cri.proto (else: node tools/gen-cri/main.ts)', () => {
  const expected = digestLine(readFileSync(path.join(FOLDER, 'cri.proto')));
  for (const file of ['cri_pb.js', 'cri_pb.d.ts']) {
    const [first] = readFileSync(path.join(FOLDER, 'generated', file), 'utf8').split('\n', 1);
    assert.equal(first, expected, file);
  }
});
