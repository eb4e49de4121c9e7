import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { imageTag } from './image-name.ts';

const TAGS: readonly (readonly [image: string, tag: string])[] = [
  ['web', 'latest'],
  ['web:1.2', '1.2'],
  ['registry:5000/team/web', 'latest'],
  ['registry:5000/team/web:1.2@sha256:aa', '1.2'],
  ['web@sha256:aa', ''],
  ['Web', ''],
  [`${'h'.repeat(255)}:65535/${'r'.repeat(255)}:${'t'.repeat(128)}`, 't'.repeat(128)],
];

for (const [image, tag] of TAGS) {
  test(`the tag of ${image.slice(0, 60)}`, () => assert.equal(imageTag(image), tag));
}

test('a text longer than any image name has no tag', () => {
  assert.equal(imageTag(`${'a/'.repeat(1_000)}a`), '');
  assert.equal(imageTag(`${'a/'.repeat(1_000)}a:latest`), '');
});
