// Planted bugs of the library of clients; see ../planted.mjs.
const CLIENT = 'libs/client/src';

/** A message that was overtaken is taken all the same: by itself it does no harm, the copy of the informer refuses it. */
const LATE_MESSAGES = {
  file: `${CLIENT}/informer/bus-progress.ts`,
  find: "    if (message.revision <= last) return 'seen';",
  replace: "    if (message.revision <= last) return 'next';",
};

export const CLIENT_BUGS = [
  {
    name: 'queue-loses-wake-up',
    harm: 'a work queue forgets a key that changes while it is worked on',
    file: `${CLIENT}/work-queue.ts`,
    find: '    if (this.#dirty.has(key) && !this.#shutDown) this.#offer(key);',
    replace: '    this.#dirty.delete(key);',
  },
  {
    name: 'informer-takes-older',
    harm: 'a late message of the bus replaces a newer state in an informer',
    edits: [
      LATE_MESSAGES,
      {
        file: `${CLIENT}/informer/object-cache.ts`,
        find: '      return known.revision >= revision ? undefined : this.#replace(key, known, { object, revision });',
        replace:
          '      return known.revision === revision ? undefined : this.#replace(key, known, { object, revision });',
      },
    ],
  },
  {
    name: 'informer-forgets-deletions',
    harm: 'a late message brings a deleted object back into an informer',
    edits: [
      LATE_MESSAGES,
      {
        file: `${CLIENT}/informer/object-cache.ts`,
        find: '      if ((this.#deletions.get(key) ?? 0) >= revision) return undefined;',
        replace: '',
      },
    ],
  },
  {
    name: 'gap-taken-as-whole',
    harm: 'an informer takes a stream with a gap for complete',
    file: `${CLIENT}/informer/bus-progress.ts`,
    find: "message.previous > last ? 'gap' : 'next'",
    replace: "message.previous < 0 ? 'gap' : 'next'",
  },
  {
    name: 'lease-by-wall-clock',
    harm: 'a process takes the lead because its clock runs ahead',
    file: `${CLIENT}/leader-elector.ts`,
    find: 'return this.#options.clock.monotonic() - this.#observedAt >= durationMs;',
    replace: "return this.#options.clock.now() - Date.parse(this.#observed?.spec?.renewTime ?? '') >= durationMs;",
  },
  {
    name: 'queue-forgets-timers',
    harm: 'a work queue that has released one delayed key forgets the others',
    file: `${CLIENT}/work-queue.ts`,
    find: '.popDue(clock.monotonic())) this.add(key);\n      this.#arm();',
    replace: '.popDue(clock.monotonic())) this.add(key);',
  },
  {
    name: 'controller-gives-up',
    harm: 'a controller does not repeat a pass that failed',
    file: `${CLIENT}/controller.ts`,
    find: '{ controller: this.name, key, error });\n    queue.addRateLimited(key);',
    replace: '{ controller: this.name, key, error });',
  },
];
