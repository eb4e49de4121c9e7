import type { RunReport } from './count-reporter.ts';

/** A test that did not run. */
export interface Skip {
  readonly title: string;
  /** From the root of the checkout. */
  readonly file: string;
  readonly reason: string;
}

interface AllowedSkip {
  readonly file: string;
  readonly reason: RegExp;
  /** Why CI may go without it. */
  readonly because: string;
}

const REFERENCE = 'documents of Kubernetes are not part of the project: who has them puts them beside the checkout';
const USERS = 'the kernel of a shared machine may forbid user namespaces; the refusal itself is tested there';

const FUSE = 'a machine without /dev/fuse has no file system that can forget what was not synced';

/** On CI every other skip is a failure. */
export const ALLOWED_SKIPS: readonly AllowedSkip[] = [
  { file: 'tools/gen/gen.test.ts', reason: /are not at hand$/, because: REFERENCE },
  { file: 'libs/api/src/golden.test.ts', reason: /are not at hand$/, because: REFERENCE },
  { file: 'services/apiserver/src/openapi/reference.test.ts', reason: /are not at hand$/, because: REFERENCE },
  {
    file: 'services/kubelet/src/runtime/process/user-namespace.test.ts',
    reason: /^user namespaces \(hostUsers: false\)/,
    because: USERS,
  },
  { file: 'test/integration/store-power-loss.test.ts', reason: /^a file system that can forget needs/, because: FUSE },
  { file: 'test/integration/kubelet-users.test.ts', reason: /^user namespaces \(hostUsers: false\)/, because: USERS },
];

/** Counts each skip that is not allowed as one failed test. */
export function refuseSkips(report: RunReport, allowed = ALLOWED_SKIPS): RunReport {
  const refused = report.skips.filter((skip) => !allowed.some((each) => covers(each, skip)));
  if (refused.length === 0) return report;
  const skips = report.skips.filter((skip) => !refused.includes(skip));
  const failures = refused.map(
    ({ title, file, reason }) =>
      `✖ ${title} (${file}): skipped: ${reason}\n    Make it run here, or add it to ALLOWED_SKIPS of tools/test/skips.ts with a reason.`,
  );
  return {
    ...report,
    failed: report.failed + refused.length,
    skips,
    failures: [...report.failures, ...failures],
  };
}

const covers = (allowed: AllowedSkip, { file, reason }: Skip): boolean =>
  allowed.file === file && allowed.reason.test(reason);

/** One line per reason and file, such as `46 skipped in a.test.ts: needs root`. */
export function describeSkips(skips: readonly Skip[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { file, reason } of skips) {
    const key = `skipped in ${file}: ${reason}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => `${count} ${text}`);
}
