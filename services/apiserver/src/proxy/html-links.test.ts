import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { LinkRewriter, withLinks } from './html-links.ts';
import { behindProxy } from './proxy-answer.ts';

const mark = (link: string): string => `[${link}]`;

const CASES: readonly (readonly [string, string])[] = [
  ['<a href="/x">/x</a>', '<a href="[/x]">/x</a>'],
  ["<A class=b HREF = '/x'/>", "<A class=b HREF = '[/x]'/>"],
  ['<a href=/x>y', '<a href=[/x]>y'],
  ['<img alt=">" src="/i.png">', '<img alt=">" src="[/i.png]">'],
  ['<form action="/f"><button formaction="/g">', '<form action="[/f]"><button formaction="[/g]">'],
  ['<p title="/x" href="/x">', '<p title="/x" href="/x">'],
  [
    '<script src="/s.js">if (a < b) "<a href=/x>"</script><a href=/y>',
    '<script src="[/s.js]">if (a < b) "<a href=/x>"</script><a href=[/y]>',
  ],
  ['<!-- <a href="/x"> --><a href="/y">', '<!-- <a href="/x"> --><a href="[/y]">'],
  ['<TITLE><a href="/x"></Title ><a href="/y">', '<TITLE><a href="/x"></Title ><a href="[/y]">'],
  ['<!----><!-- - -> -- > --><a href="/y"><!---->', '<!----><!-- - -> -- > --><a href="[/y]"><!---->'],
  ['1 < 2 <3 <a href="/x">', '1 < 2 <3 <a href="[/x]">'],
  [
    '<!doctype html><html manifest="/m"><link rel=a href="/l">',
    '<!doctype html><html manifest="[/m]"><link rel=a href="[/l]">',
  ],
  ['\xff<a href="/\xfc">', '\xff<a href="[/\xfc]">'],
  ['<a href="/unfinished', '<a href="/unfinished'],
];

test('page links are rewritten at any chunk boundary', () => {
  for (const [page, expected] of CASES) {
    for (let size = 1; size <= page.length; size += 1) {
      const rewriter = new LinkRewriter(mark);
      let out = '';
      for (let at = 0; at < page.length; at += size) out += rewriter.push(page.slice(at, at + size));
      assert.equal(out + rewriter.end(), expected, `${page} in pieces of ${size}`);
    }
  }
});

test('a tag without end is not buffered: it passes unchanged', () => {
  const rewriter = new LinkRewriter(mark);
  const out = rewriter.push(`<a ${'x'.repeat(100_000)}`);
  assert.ok(out.length > 99_000, String(out.length));
  assert.equal(rewriter.push(' href="/x">'), ' href="/x">');
});

test('the letters of a page with many comments, titles and scripts are looked at once', (t) => {
  for (const each of ['<!---->', '<title></title>', '<script>x</script>']) {
    const page = each.repeat(2_000);
    const { mock } = t.mock.method(String.prototype, 'toLowerCase');
    const out = new LinkRewriter(mark).push(page);
    const chars = mock.calls.reduce((sum, call) => sum + String(call.this).length, 0);
    mock.restore();
    assert.equal(out, page);
    assert.ok(chars > 0 && chars <= 2 * page.length, `${chars} characters of ${page.length}`);
  }
});

async function* pieces(...texts: readonly (string | Uint8Array)[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString();
}

test('links of proxied pages lead back to the proxy, also in compressed pages; other answers are unchanged', async () => {
  const seat = { prefix: '/p/web/proxy', own: '10.0.0.7:8080', asked: 'api:6443' };
  const page =
    '<a href="/x?a=1&amp;b=2">ü</a> <a href="http://10.0.0.7:8080/y"> <a href="http://other/z"> <a href="w">';
  const led =
    '<a href="/p/web/proxy/x?a=1&amp;b=2">ü</a> <a href="/p/web/proxy/y"> <a href="http://other/z"> <a href="w">';
  const answered = async (headers: Record<string, string>, body: string | Uint8Array): Promise<string> => {
    const answer = behindProxy({ status: 200, headers, body: { kind: 'stream', chunks: pieces(body) } }, seat);
    assert.ok(answer.body.kind === 'stream');
    return `${answer.headers['content-encoding'] ?? ''} ${await textOf(answer.body.chunks)}`;
  };
  assert.equal(await answered({ 'content-type': 'text/html; charset=utf-8' }, page), ` ${led}`);
  assert.equal(await answered({ 'content-type': 'text/html', 'content-encoding': 'gzip' }, gzipSync(page)), ` ${led}`);
  assert.equal(await answered({ 'content-type': 'text/plain' }, page), ` ${page}`);
  assert.equal(await answered({ 'content-type': 'text/html', 'content-encoding': 'br' }, page), `br ${page}`);
});

test('an interrupted page ends its answer with the error', async () => {
  async function* broken(): AsyncIterable<Uint8Array> {
    yield gzipSync('<a href="/x">').subarray(0, 12);
    throw new Error('the pod has gone');
  }
  await assert.rejects(textOf(withLinks(broken(), { 'content-encoding': 'gzip' }, mark)), /the pod has gone/);
});
