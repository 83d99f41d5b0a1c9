// SPDX-License-Identifier: GPL-2.0-only
// All texts of the page: a translation is another table.

export const TEXT = {
  title: 'Fairground', subtitle: 'the scheduler, decision by decision',
  workload: 'Workload, as for schedsim', example: 'Example', cpus: 'CPUs', ms: 'Simulated ms', run: 'Run', running: 'Running ...',
  stop: 'Stop', stopped: 'The run was stopped.', previous: '◀ Previous', next: 'Next ▶', slider: 'Decision', play: 'Play', pause: 'Pause',
  playHelp: 'Go from decision to decision (space)', byTask: 'By task', byCpu: 'By CPU', rowsHelp: 'Rows of the timelines: tasks or CPUs',
  taskRows: 'A row is a task: coloured while it runs, red while it waits, empty while it sleeps.', longestWait: 'longest wait:',
  isWaiting: 'waits', isRunning: 'runs on CPU', sleeps: 'sleeps', firstRun: 'The first runs are being simulated …',
  help: 'Arrow keys step by decision, Page Up and Page Down by 20. A click on the timeline goes to that moment; one on a ' +
    'name chooses the policy to step through. Draw the mouse over a part to zoom to it, or use + and -, Ctrl and the wheel; Shift and an ' +
    'arrow go aside, 0 shows all; m puts a mark, or takes it away, and times count from it; a shows arrows of wakeups, or hides them. A file of decisions (lines of JSON or ' +
    '.bin) or a trace.dat, of simulator or kernel, can be dropped anywhere; several are drawn beside each other.',
  search: 'Find a task', searchHelp: 'Name or number of a task: all others are pale. Enter goes to the next decision about it.', closer: 'Zoom in (+)', farther: 'Zoom out (-)',
  whole: 'The whole run (0)', arrows: 'Arrows', arrowsHelp: 'Show arrows from each task that wakes another, or hide them (a). Where they are many, some are left out.', wakeups: 'wakeups', mark: 'Mark', markHelp: 'Put a mark at this moment, or take it away (m): times count from it', nrRunning: 'running', nrWaiting: 'waiting', afterMark: 'after the mark',
  viewerHelp: 'Arrow keys step by decision, Page Up and Page Down by 20. A click on a timeline goes to that moment; one on a name chooses the run to step ' +
    'through. Draw the mouse over a part to zoom to it, or use + and -, Ctrl and the wheel; Shift and an arrow go aside, 0 shows all; m puts a mark, or takes it away, and times count from it; a shows arrows of wakeups, or hides them.',
  compared: 'A run to compare', firstDifference: 'First difference', firstSwitch: 'The first switch that differs is on CPU', sameDecisions: 'All decisions are the same.', tooManyFiles: 'At most 8 files at a time.', sameSwitches: 'On no CPU do they differ: the same tasks run in the same order.',
  open: 'Open files', openHelp: 'Decisions as JSON lines or .bin, or a trace.dat; several are compared. Or a program for sched_ext: the .wasm of make scx',
  decision: 'The decision', shares: 'Shares and waits', whatif: 'What if?', change: 'From this moment on', fork: 'Fork here',
  policy: 'policy', tunable: 'tunable', nice: 'nice', value: 'PID=NICE or NAME=VALUE; several: NAME=1,2,3', allOthers: 'every other', tooManyForks: 'At most 7 forks at a time.',
  futures: 'futures of this moment, and the first decision in which each differs:', future: 'future', noDifference: 'never differs', idled: 'idled in vain, ms',
  unknown: '–', task: 'task', share: 'share %', got: 'ran ms', waits: 'waits', mean: 'mean ms', longest: 'longest ms',
  vruntime: 'vruntime', deadline: 'deadline', lag: 'lag at sleep', weight: 'weight', sliceLeft: 'slice left', endless: 'endless', waitsIn: 'waits in', score: 'score', notes: '', after: 'after',
  same: 'Both futures are the same to the end.', differs: 'The first decision that differs:', now: 'as it was', then: 'instead',
  onlySimulated: 'Only a run that was simulated here can be forked: press Run first.', idle: 'idle', because: 'because', choosePolicy: 'Choose a policy.', limit: 'The page takes at most 4,096 CPUs and 10,000 ms.',
  notFile: 'This is not a file of decisions or a trace.dat: ', notDecision: 'its record N is not a decision that this page knows.',
  empty: 'it is empty.', endsEarly: 'it ends too early.', damaged: 'it is damaged.', otherVersion: 'it has another version of the ' +
    'compact form: take file and page from one commit.', traceVersion: 'of trace.dat versions 6 and 7 are read here, ' +
    'plain or packed by zstd or zlib; trace-cmd convert --file-version 6 --compression none makes one.', noEvents: 'the trace has no events of the scheduler.',
  isPerf: 'it is a perf.data, which only perf can read; with perf on your machine, fairground report out.html FILE makes a page of it.',
  tooLarge: 'it has more than 512 MB.',
  onlyWasm: 'NAME: of a program for sched_ext the page takes the .wasm alone, which make scx SRC=FILE.bpf.c writes into build/scx.',
  noDecisions: 'The trace has no decisions, so only its timeline is shown. The kernel records them with EVENTS=\'decision:*\'.',
  cutOff: 'it is cut off.', noSchema: 'its first line has no schema ' +
    'fairground-decisions/4.', badLink: 'The link is cut off or damaged; it was ignored.', tooMany: 'More than 1,000,000 ' +
    'decisions, or 128 MB of them: the run is shown up to there. Simulate less time to see all.', tree: 'The tree of those that wait',
  notOwed: 'but it is right of V', isOwed: 'not eligible, but it is not right of V', dueBefore: 'but due before it is', sumBehindV: 'The sum behind V', sum: 'sum', fromLeft: 'from the leftmost, ms', product: 'weight × ms', lagNow: 'V − vruntime, ms',
  leftmost: 'leftmost', scores: 'Burst scores', scoresHelp: 'From 0 to 39: each point weighs as one nice value less. Short bursts have few.',
  buckets: 'FDL: deadlines ahead of v', bucketsHelp: 'A bucket empties as v comes nearer to its deadline, and running fills it. ' +
    'The earliest is picked; the container stands for all without a deadline of their own.', container: 'container',
  machine: 'The machine as the placement saw it', machineHelp: 'Thick: the CPU chosen. Filled: busy. Dashed: not allowed. A aimed at, W the waker\'s, ' +
    'L where the task ran last.', averages: 'Averages (PELT)', averagesHelp: 'As they were at charges and switches, at up to 2,000 of them; lines join these points.',
  util: 'utilisation', load: 'load', runnable: 'runnable', wasted: 'CPUs idled while tasks waited:', ideal: 'ideal %', programs: 'program',
  presets: {labs: 'Labs', cards: 'Scenario cards', experiments: 'Experiments', examples: 'Examples'} as Record<string, string>,
  json: 'rt-app workload (JSON)', jsonHelp: 'Its tasks run beside those above. Mistakes are told by line and key.',
  tour: 'Tour: 12 steps for a newcomer', goOn: 'Go on with the tour: step', toTry: 'Try:', doIt: 'Do it', stepBack: '◀ Step back', stepOn: 'Next step ▶',
  finish: 'Finish', leaveTour: 'Leave the tour', prepareAgain: 'Prepare again', backToTour: '▲ To the tour', yes: 'yes', no: 'no',
  hunt: 'See a bug and find it', bug: 'Bug', huntHelp: 'Each policy below ran twice: as it is, and in a scheduler with one bug. What goes wrong? Compare the timelines, ' +
    'shares and waits, and step through the decisions. A workload or policy of your own runs in both, too.', reveal: 'Show the first decision that differs',
  correct: 'as it should be', buggy: 'with the bug', nothing: 'nothing', whichRule: 'Which rule is broken?', answer: 'Answer', chooseRule: 'Choose a rule first.',
  right: 'Right.', wrong: 'No: look at the first decision that differs, and at what it compared.', bugBefore: '◀ Bug before', bugAfter: 'Next bug ▶', leaveHunt: 'Leave',
  withBug: 'with bug',
  why: 'Why late?', whyFrom: 'from ms', whyMs: 'ms', whyCpu: 'CPU', whyRan: 'ran instead', whyGo: 'Go to this decision', whyMore: 'and N times more; fairground why tells all',
  whyFutures: 'Under another policy?', whyFuturesHelp: 'Simulate the same moment under each other policy',
  write: 'Write a policy', writeHelp: 'A fair policy in a few lines, which runs beside the policies chosen below, with all invariants checked at each step. ' +
    'The entity with the least key runs next; the hooks set it. Control and Enter together run the text.',
  policyText: 'The policy\'s text', written: 'Examples', runOwn: 'Run it beside the others', export: 'Export as C', exportedText: 'The policy as C',
  exported: 'The same as C, for examples/policies/:', language: 'The language', word: 'word', meaning: 'meaning', lineNr: 'Line', at: 'at',
  queued: 'Who is queued', whatCompared: 'What was compared', ideals: 'Shares beside the ideal', operationsOf: 'Operations', policies: 'Example and policies',
  key: 'key', keyLine: 'The keys of those queued: the least is on the left',
  tooSlow: 'It took more than N s and was ended. The text, and the runs shown, are as before.',
  check: 'Check it', checking: 'Checking: run', checkHeld: 'In 20,000 random operations on ten machines every invariant held, nobody starved among equals, and what was promised was kept.',
  checkFailed: 'A check failed.', notProportional: 'It promises to be proportional, but of hogs that ran for a minute got', due: 'due were', violated: 'Violated:', foundAt: 'Found at operation',
  seed: 'seed', operationsLeft: 'operations are left, from which none can be left out; it fails at the last, or when all is calm after it. The machine has', places: 'places for tasks',
  operation: 'operation', number: 'number', later: 'kicks that it causes, and timers, are served later', inside: 'another CPU does it while the one before goes on', replay: 'The same in the simulator, with your file:',
  tourChanged: 'The run shown is not the one of this step: "Prepare again" brings it back.',
  machineName: 'machine', machineJson: 'Machine (JSON)', machineExample: '{"llcs": 2, "cores": 4, "hz": 1000,\n "types": {"big": {"opp": [[1000, 1024, 90, 40]], "idle": [[6, 56, 0]]},\n' +
    '  "small": {"opp": [[450, 256, 30, 20], [900, 512, 60, 30]], "idle": [[2, 20, 0]]}},\n "domains": [{"cpus": "0-3", "type": "big"}, {"cpus": "4-7", "type": "small"}]}',
  machineHelps: 'Levels nodes, llcs, cores, threads; hz, skew, costs ({"switch": "2us"}); operating points by name (opp: juno) or as types and domains, governor. ' +
    'Then the number of CPUs above does not count.',
  noObject: 'must be an object.', unknownKey: 'is not known here.', noWord: 'must be a number or one word.', noRows: 'must be a list of lists of N whole numbers.',
  noList: 'must be a list.',
  line: 'Virtual time, ms from V: circles stand for entities, filled if eligible; triangles for deadlines',
};

// Of policies in expressions; docs/policies.md says more.
export const LANGUAGE: {head: string, rows: [string, string][]}[] = [
  {head: 'Declarations, each a line', rows: [['# ...', 'a comment'], ['policy NAME', 'its name'],
    ['promises TRAIT ...', 'proportional, even, bounded-lag, deterministic: what it claims'],
    ['entity NAME ...', 'numbers that each task, or group on one CPU, has; 0 at first'], ['queue NAME ...', 'numbers that each queue has'],
    ['key NAME', 'the number of the entity that orders the queue: the least runs']]},
  {head: 'Hooks', rows: [['place { }', 'it is about to be queued: set its key'], ['charge { }', 'the running one ran for delta ns'],
    ['yield { }', 'it yields'], ['leave { }', 'it leaves the queue, asleep or for another'], ['reweight { }', 'its weight becomes new_weight'],
    ['slice = VALUE', 'ns that it may run; else base_slice'], ['tick = VALUE', 'has the running one had its turn? else ran >= slice'],
    ['preempts = VALUE', 'does woken take over from curr? else 0']]},
  {head: 'Statements, each a line', rows: [['NAME = VALUE', 'also += and -='], ['let NAME = VALUE', 'a number that is forgotten at the end of the hook'],
    ['if VALUE { } else { }', '0 is no, all else yes'], ['while VALUE { }', 'more than 100,000 rounds in one call are a mistake']]},
  {head: 'Values: whole numbers of 64 bits', rows: [['3ms, 1.5us, 2s', 'numbers of ns'],
    ['a ? b : c, ||, &&, ==, <, +, *, /, %, !', 'as in C; what is divided by 0 is 0'], ['min(a, b), max(a, b)', 'the least, the greatest'],
    ['weight, ran, slice, queued', 'of the entity: 1024 for nice 0, ns of this turn, ns of a turn, 0 or 1. In preempts: curr.weight, woken.weight'],
    ['clock, count, load, first', 'the time; entities queued; their weights\' sum; the least key'], ['base_slice, granularity', 'the tunables base_slice_ns and wakeup_granularity_ns'],
    ['delta', 'in charge'], ['is_new, slept, lead', 'in place: just made; woken up; ns ahead of the last one after a swap'],
    ['sleeps', 'in leave: it falls asleep'], ['new_weight', 'in reweight']]},
];

export const KINDS: Record<string, string> = {
  pick: 'Who runs next?', preempt: 'Does the woken task take over?', tick: 'Is the turn over?', place: 'Where does it enter?',
  charge: 'It is charged for its run', leave: 'It leaves the queue', select: 'On which CPU?', balance: 'Should tasks move?',
  class: 'A real-time or deadline class decides', ext: 'A program for sched_ext decides', quota: 'A quota moves', pool: 'The pool of a quota',
};

export const EXAMPLES: Record<string, string> = {
  'Hogs and a sleeper': 'hogs:n=2 bursts:run=2ms,sleep=10ms',
  'Nice values': 'hogs:n=1 hogs:n=1,nice=5 hogs:n=1,nice=10',
  'Messages (schbench)': 'messages:n=1,workers=4,run=2ms',
  'Pipes (hackbench)': 'pipes:groups=1,pairs=2',
  'Groups and a quota': 'group:name=a,quota=10ms,period=50ms hogs:n=2,group=a hogs:n=2',
  'Requests': 'requests:workers=3 hogs:n=2',
  'Slices of one\'s own': 'hogs:n=2,slice=10ms periodic:policy=normal,period=6ms,run=1ms,slice=1ms',
};

export const FLAGS: [number, string][] = [[0x1, 'runs'], [0x2, 'delayed'], [0x4, 'idle class'], [0x8, 'eligible'],
  [0x10, 'protected'], [0x20, 'used up'], [0x40, 'next buddy'], [0x80, 'last buddy'], [0x100, 'yielded'], [0x200, 'own deadline']];

// The steps of the tour. What stands in braces is a number or a name of the run (tour.ts).
export const TOUR: {title: string, see: string, try: string, tried: string}[] = [
  {title: 'Two tasks, one CPU',
    see: 'Both tasks want the CPU all the time. Each coloured piece of the timeline is a turn: there are {turns} turns, and at their end task 1 got ' +
      '{a} % of the CPU and task 2 got {b} %. Before a turn of its own task 2 waited for {mean} ms, on average.',
    try: 'a third task. Will turns become shorter, or waits longer?',
    tried: 'There are {turns} turns now. The three got {a} %, {b} % and {c} %, and task 3 waited for {mean} ms on average.'},
  {title: 'Nice tasks get less',
    see: 'Task 2 has the nice value 5. The scheduler makes a weight of that: {wb}, while task 1 with nice 0 has {wa}. So task 2 should have {ideal} % of the CPU. ' +
      'It got {got} %: in such a short time a turn more or less still counts.',
    try: 'the nice value 10.',
    tried: 'The weights are {wa} and {wb}. Task 2 should have {ideal} %, and got {got} %.'},
  {title: 'A clock for each task',
    see: 'How does CFS divide? Each task has a virtual runtime. It grows while the task runs, and faster the lighter the task is. Who has the least runs next. ' +
      'The number line shows both tasks at {time} ms: {who} is chosen, because it is {gap} ms behind the other.',
    try: 'going on to the moment when task 2 is charged for its run.',
    tried: 'At {time} ms {who} is charged. It ran {ran} ms, but its virtual runtime grew by {moved} ms, {times} times as much. ' +
      'The weight of nice 0 is {weights} times its own.'},
  {title: 'Back from sleep',
    see: 'Task 3 runs for 2 ms and sleeps for 10 ms. In its sleep its virtual runtime stood still. If it kept that, it could run for long before the others do. ' +
      'So CFS gives it another place, with a credit: at {time} ms {who} enters {credit} ms before V, the least virtual runtime of the queue.',
    try: 'a sleep of 100 ms. Is the credit greater?',
    tried: 'After the long sleep, at {time} ms, the credit of {who} is {credit} ms. Sleep cannot be saved up.'},
  {title: 'May I interrupt?',
    see: '{who} woke up while {other} runs. Does it take over at once? It is {lead} ms ahead in virtual runtime, and CFS asks whether that is more than the ' +
      'wakeup granularity. The answer is {answer}.',
    try: 'a fork of this moment: from here on the granularity is 10 ms. Both futures are drawn.',
    tried: 'At {time} ms the answer is {answer} in the new future. The longest wait of task 3 was {before} ms before, and is {after} ms now.'},
  {title: 'EEVDF: who is owed time?',
    see: 'EEVDF asks two questions. First: who had no more than its due? V is the mean of all virtual runtimes, by weight, and who is at V or left of it is eligible: ' +
      'here, at {time} ms, {eligible} of {queued}. Second: of these, whose deadline is the earliest? That is {who}, which is owed {owed} ms. ' +
      'The table shows the sum behind V.',
    try: 'a workload in which the earliest deadline does not win.',
    tried: 'At {time} ms the earliest deadline is that of {other}, but it is {over} ms right of V: it had more than its due. So {who} runs.'},
  {title: 'Short slices for the impatient',
    see: 'Under EEVDF a task may ask for a slice. It changes no share, but the deadline: a short request is due earlier. Task 3 has a job of 1 ms every 6 ms and asks for ' +
      '{slice} ms at a time, the two others for 10 ms. It waited for {mean} ms on average, at most {longest} ms, and got {got} % of the CPU.',
    try: 'the same with a slice of 10 ms for task 3.',
    tried: 'With {slice} ms it waited for {mean} ms on average, at most {longest} ms. It got {got} %.'},
  {title: 'BORE: a score for bursts',
    see: 'BORE adds one idea: tasks that run long without sleeping get a score, and each point weighs as one nice value less. At {time} ms the sleeper, task 3, has {burst}, ' +
      'the two others have {a} and {b}. The sleeper waited for {bore} ms on average under BORE, for {eevdf} ms under plain EEVDF.',
    try: 'bursts of 60 ms instead of 2 ms. Is task 3 still preferred?',
    tried: 'Its score at {time} ms is {burst} now, those of the others are {a} and {b}. It waits for {bore} ms under BORE, for {eevdf} ms under EEVDF.'},
  {title: 'Groups',
    see: 'Tasks can be put into groups, and the CPU is divided between groups first. Group a has one task, group b has three. Task 1 got {a} %; tasks 2, 3 and 4 got ' +
      '{b} %, {c} % and {d} %, together {other} %.',
    try: 'three times the shares for group a.',
    tried: 'Task 1 got {a} %, and the three of group b {other} % together.'},
  {title: 'A quota',
    see: 'A group may have a limit: {quota} ms in every 50 ms. That is {limit} % of one CPU, even if the CPU would idle otherwise. At {time} ms the pool of the group is empty, ' +
      'and its two tasks have to wait for the next period. Together they got {group} %, task 3, outside, got {c} %.',
    try: 'a quota of 25 ms.',
    tried: 'The limit is {limit} % now. The group got {group} %, task 3 {c} %. At {time} ms a period is over.'},
  {title: 'Several CPUs',
    see: 'Four CPUs, two of which share each cache. {who} is new. Its parent runs on CPU {aimed}, so the search begins there; CPU {chosen} is chosen, the sentence says why. ' +
      'Boxes in the picture are caches.',
    try: 'five tasks that never sleep. Four CPUs are busy then, and one task too many moves around.',
    tried: 'At {time} ms CPU {to} takes a task from CPU {from}. At the end the five tasks got between {least} % and {most} % of a CPU; {fair} % would be fair.'},
  {title: 'What if?',
    see: 'Every moment has more than one future. {time} ms after the start {who} has woken up, under CFS. "Fork here" below makes a second future from this moment on, with another ' +
      'policy, tunable or nice value, and shows the first decision that differs.',
    try: 'EEVDF from here on.',
    tried: 'Two futures are drawn, and the first decision that differs is told below. On average task 3 waited for {was} ms under CFS, and for {then} ms in the future that went on with EEVDF. ' +
      'This was the last step. Now workloads of your own are worth a look, or "See a bug and find it".'},
];

// The seeded bugs by their names in tests/mutants: the rule that each breaks, and what shows it.
export const BUGS: Record<string, {rule: string, why: string}> = {
  sleepers_pay_for_their_sleep: {rule: 'A task that slept gets a credit: it enters left of the queue\'s virtual time, not right of it.',
    why: 'With the bug the sleeper enters far to the right. It wakes up, may not take over, and starves until the others have come so far.'},
  everybody_is_eligible: {rule: 'Who had more than its due is not eligible, and is not picked.',
    why: 'With the bug the earliest deadline wins alone. The task with the short slice runs on although the others are owed time, and has longer waits later.'},
  yielder_not_passed_over: {rule: 'A task that yields is passed over once, even if it is the first in the queue.',
    why: 'With the bug a yield does nothing as long as the task has the least virtual runtime: it is picked again at once.'},
  score_without_weight: {rule: 'A new score changes the weight, so bursty tasks get less.',
    why: 'With the bug the scores are counted, and the table shows them, but the weights of the hogs stay at 1024.'},
  cache_not_searched_for_an_idle_cpu: {rule: 'A wakeup looks for an idle CPU among those that share the cache.',
    why: 'With the bug only the waker\'s CPU and those where the task was are tried. Tasks queue up while CPUs beside them idle: the red line grows.'},
  start_debit_lost: {rule: 'A new task begins a slice to the right, so that nobody gains by forking.',
    why: 'With the bug each child starts where its parent is, and runs before the hogs that have waited.'},
  everybody_delayed: {rule: 'A task that falls asleep leaves the queue at once, unless it owes time.',
    why: 'With the bug all stay queued after they fell asleep, also one that is owed time.'},
  no_burst_ends: {rule: 'A burst ends when its task sleeps.',
    why: 'With the bug the sleeper\'s short bursts add up to one long burst. Its score rises like those of the hogs, and it waits.'},
  slack_is_kept: {rule: 'A group\'s queue that empties returns its unused runtime to the pool.',
    why: 'With the bug each CPU keeps what is left of its slice, and the group is throttled though it did not use up its quota.'},
  wake_affine_to_the_busier: {rule: 'Of the waker\'s CPU and the one where the task ran last, the less loaded one attracts the task.',
    why: 'With the bug wakeups go to the CPU with the higher load, and wait there.'},
  group_without_urgency: {rule: 'A group asks for a slice as short as its members ask for.',
    why: 'With the bug the group asks for the usual slice, so the impatient task in it is due later, and waits longer.'},
  container_never_first: {rule: 'Tasks without a deadline have their turn when their common deadline is the earliest.',
    why: 'With the bug they run only when nobody with a deadline is queued: they starve.'},
};

// Rules that no bug above breaks, for policies with few bugs.
export const DECOYS: Record<string, string[]> = {
  bore: ['A yield ends a burst.', 'A child starts with the average score of its relatives.', 'Of the eligible the one with the earliest deadline runs.'],
  fdl: ['Of several groups the one with the earliest deadline runs.', 'After a missed deadline the next ones are spread.', 'A group that slept is due no sooner than its deadline for wakeups.'],
};
