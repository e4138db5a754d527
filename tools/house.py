#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""house.py - does the tree keep the rules of the house?

Prints one line per finding, `file:line: what; the fix`, and exits 1; prints
nothing and exits 0 when the house is clean. Each rule has a bad example in
house_test.py that must be rejected.

    house.py                 every rule
    house.py --report        sizes beside those of well-known C projects; no verdict
"""

import argparse
import fnmatch
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

LIBRARY = ("base", "mailbox", "timers", "leases", "rings", "capabilities",
           "actors")
SKIPPED = ("build", ".git", ".cache", "__pycache__", "Testing")
TEXT = (".c", ".h", ".cpp", ".py", ".sh", ".cmake", ".md", ".txt", ".pml",
        ".json", ".in", ".supp")
CODE = (".c", ".h")

ISO_C = {name + ".h" for name in """assert complex ctype errno fenv float
inttypes iso646 limits locale math setjmp stdalign stdarg stdatomic stdbool
stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar
wctype""".split()}

# Everywhere: (pattern of a call, what to use instead).
BANNED = [
    (r"(strcpy|strcat|stpcpy)", "copy with a length: memcpy or snprintf"),
    (r"(sprintf|vsprintf|gets)", "use snprintf"),
    (r"(atoi|atol|atoll|atof)", "use strtol and look at its end pointer"),
    (r"(sleep|usleep)", "wait for the event itself"),
    (r"(strtok|alloca)", "no hidden state and no unbounded stack"),
]
# In the library itself: (pattern, files where it is at home, fix).
BANNED_LIBRARY = [
    (r"(malloc|calloc|realloc|reallocarray|free|strdup|strndup|aligned_alloc|"
     r"posix_memalign)", ("base/memory.c",),
     "use rgi_alloc and rgi_free of base/memory.h"),
    (r"(pthread_mutex_\w+|pthread_cond_\w+|pthread_rwlock_\w+|mtx_\w+|cnd_\w+)",
     ("capabilities/threads/", "capabilities/scripted/", "actors/jobs.c",
      "actors/signals.c"),
     "locks live where threads that may block meet: capabilities/threads, "
     "capabilities/scripted, actors/jobs.c and actors/signals.c"),
    (r"(printf|puts|putchar|perror)", (), "a library prints nothing"),
    (r"(fprintf|fputs|vfprintf)", ("base/assert.h", "base/cases.h"),
     "a library prints nothing"),
    (r"(exit|_exit|quick_exit)", (), "return an error; rgi_assert for our bugs"),
]
MARKS = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")
MACHINE = re.compile(r"(?<![\w.$}])/(work|root|home)/\w")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
# `file: function` in the documents, with the file from the repository root.
DOC_WALK = re.compile(r"`([\w./-]+\.[ch]): ?(\w+)(?:\(\))?`")
DOC_PATH = re.compile(r"`((?:[\w-]+/)+[\w.-]+\.(?:c|h|py|sh|md|cmake|pml))`")
DOC_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")

ATOMIC = re.compile(r"\bck_pr_(load|store|cas|fas|faa|add|sub|inc|dec|or|and|"
                    r"md_load|md_store)_|\b__atomic_|\b_Atomic\b|"
                    r"\batomic_(load|store|exchange|compare|fetch)|\b__sync_")

ANCHORS = """for comparison (files; function length median / 90th / longest-but-1%; comments)
  liburing src    8      5 / 25 /  79   12 %
  CK src         12     12 / 68 / 107   20 %
  nng core       29      7 / 31 /  98    9 %
  raft src       51     11 / 54 / 121   13 %
  libponyrt      43     10 / 50 / 199   14 %"""


class House:
    def __init__(self, root, build=None):
        self.root = root
        self.build = build
        self.findings = []
        self.files = sorted(self.walk())
        self.texts = {path: self.read(path) for path in self.files}
        self.layers = self.read_layers()

    def walk(self):
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if f not in SKIPPED]
            for file in files:
                path = os.path.relpath(os.path.join(folder, file), self.root)
                if path.endswith(TEXT) or path in ("dev", ".ci/run"):
                    yield path

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8",
                  errors="replace") as file:
            return file.read()

    def say(self, path, line, what):
        self.findings.append(f"{path}:{line}: {what}")

    def code(self):
        return [path for path in self.files if path.endswith(CODE)]

    # -- layers ------------------------------------------------------------

    def read_layers(self):
        layers = {}
        for line in self.texts.get("tools/layers.txt", "").splitlines():
            if line.strip() and not line.startswith("#"):
                folder, includes, headers = line.split("|")
                layers[folder.strip()] = (includes.split(), headers.split())
        return layers

    def layer_of(self, path):
        folders = [f for f in self.layers if path.startswith(f + "/")]
        return max(folders, key=len) if folders else None

    def check_includes(self):
        for path in self.code():
            layer = self.layer_of(path)
            if layer is None:
                self.say(path, 1, "in no layer; add its folder to "
                         "tools/layers.txt or move it")
                continue
            for number, line in enumerate(self.texts[path].splitlines(), 1):
                found = INCLUDE.match(line)
                if not found:
                    continue
                if found.group(1) == '"':
                    self.check_private(path, number, layer, found.group(2))
                elif not found.group(2).startswith("ringmail/"):
                    self.check_system(path, number, layer, found.group(2))

    def check_private(self, path, number, layer, header):
        allowed, _ = self.layers[layer]
        if header.startswith("ringmail/"):
            self.say(path, number, f'"{header}" is public; write <{header}>')
        elif ".." in header.split("/") or "/" not in header:
            self.say(path, number, f'"{header}"; write its path from the root '
                     "of the repository")
        elif header not in self.texts:
            self.say(path, number, f'"{header}" does not exist; correct it')
        elif layer == "include/ringmail":
            self.say(path, number, f'public header includes private "{header}"; '
                     "move what it needs into include/ringmail")
        else:
            target = self.layer_of(header)
            if target != layer and target not in allowed and \
                    header not in allowed:
                self.say(path, number, f"{layer} may not include {target} "
                         "(tools/layers.txt); turn the dependency round")

    def check_system(self, path, number, layer, header):
        _, allowed = self.layers[layer]
        if re.search(r"_(test|stress|fuzz)\.c$", path):
            allowed = allowed + self.layers.get("tests", ([], []))[1]
        if header in ISO_C or any(fnmatch.fnmatch(header, a) for a in allowed):
            return
        if path == "base/cases.h" and header.startswith("criterion/"):
            return
        self.say(path, number, f"<{header}> is not for {layer} "
                 "(tools/layers.txt); use what a lower layer offers")

    # -- public headers ----------------------------------------------------

    def check_prototypes(self):
        for path in self.code():
            if not path.startswith("include/ringmail/"):
                continue
            # `Thread:` in the header's opening comment speaks for all of it.
            comments = re.findall(r"/\*.*?\*/", self.texts[path], re.S)
            if re.search(r"^ \* Thread: ", "\n".join(comments[:2]), re.M):
                continue
            lines = self.texts[path].splitlines()
            for number, line in enumerate(lines, 1):
                if re.match(r"RGM_API\b(?!.*\bextern\b)", line) and \
                        "Thread:" not in self.comment_above(lines, number - 1):
                    self.say(path, number, "RGM_API without a comment that has "
                             "`Thread:`; say from which thread it may be called, "
                             "there or for all of them in the opening comment")

    @staticmethod
    def comment_above(lines, index):
        """The comment above; declarations without a blank line between them
        share one."""
        while index > 0 and lines[index - 1].strip() and \
                not lines[index - 1].rstrip().endswith("*/"):
            index -= 1
        end = index
        while index > 0 and lines[index - 1].strip() and \
                "/*" not in lines[index - 1]:
            index -= 1
        return "\n".join(lines[max(index - 1, 0):end])

    # -- symbols -----------------------------------------------------------

    def nm(self, path, *flags):
        done = subprocess.run(["nm", "--defined-only", *flags, path],
                              capture_output=True, text=True)
        for line in done.stdout.splitlines():
            parts = line.split()
            if len(parts) == 3:
                yield parts[1], parts[2]

    def check_symbols(self):
        if not self.build or not os.path.isdir(self.build):
            return
        library = os.path.join(self.build, "libringmail.so")
        if os.path.exists(library):
            for _, name in self.nm(library, "-D"):
                if not name.startswith("rgm_"):
                    self.say("libringmail.so", 0, f"exports {name}; only rgm_ "
                             "names are public: drop RGM_API or rename it")
        for folder, _, files in os.walk(self.build):
            module = re.search(r"/CMakeFiles/rgi_(\w+)\.dir(/.*)?$", folder)
            if not module:
                continue
            place = os.path.relpath(folder, self.build).split("/CMakeFiles")[0]
            for file in files:
                source = os.path.join(place, file[:-2])
                if file.endswith(".c.o") and source in self.texts:
                    self.check_object(os.path.join(folder, file), source)

    def check_object(self, path, source):
        for kind, name in self.nm(path, "--extern-only"):
            if kind in "TDBRCVW" and not name.startswith(("rgi_", "rgm_")):
                self.say(source, 0, f"defines {name}; make it static or name it "
                         f"rgi_{name}")

    # -- text --------------------------------------------------------------

    @staticmethod
    def without_comments(text):
        """Code alone, line numbers kept; strings are emptied too."""
        def blank(found):
            kept = "\n" * found.group(0).count("\n")
            return '""' + kept if found.group(0)[0] == '"' else " " + kept
        return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text,
                      flags=re.S)

    def check_calls(self):
        for path in self.code():
            code = self.without_comments(self.texts[path])
            for pattern, fix in BANNED:
                self.check_call(path, code, pattern, fix)
            test = re.search(r"_(test|stress|fuzz)\.[ch]$", path)
            if not path.startswith(tuple(f + "/" for f in LIBRARY)) or test:
                continue
            for pattern, home, fix in BANNED_LIBRARY:
                if not path.startswith(home or ("?",)) and \
                        path != "base/cases.h":
                    self.check_call(path, code, pattern, fix)

    def check_call(self, path, code, pattern, fix):
        for found in re.finditer(r"(?<![\w.>])" + pattern + r"\s*\(", code):
            line = code.count("\n", 0, found.start()) + 1
            self.say(path, line, f"{found.group(1)} is banned; {fix}")

    def check_thread_locals(self):
        """What is one thread's own is used by its name: a pointer to it could
        be kept by an actor, which may go on on another thread."""
        for path in self.code():
            if not path.startswith(tuple(f + "/" for f in LIBRARY)):
                continue
            code = self.without_comments(self.texts[path])
            for name in re.findall(r"\b(?:__thread|_Thread_local|thread_local)\b"
                                   r"[^;=]*?(\w+)\s*(?:\[[^;=]*)?"
                                   r"(?:__attribute__[^;]*)?[;=]", code):
                for found in re.finditer(rf"&\s*{name}\b", code):
                    line = code.count("\n", 0, found.start()) + 1
                    self.say(path, line, f"the address of {name}, which is a "
                             "thread's own, is taken; use it by its name")

    def check_marks(self):
        for path in self.files:
            for number, line in enumerate(self.texts[path].splitlines(), 1):
                mark = MARKS.search(line)
                if mark and not path.startswith("tools/house"):
                    self.say(path, number, f"{mark.group(1)} mark; do it, or "
                             "write an issue")
                if MACHINE.search(line) and not path.startswith("tools/house"):
                    self.say(path, number, "a path of somebody's machine; make "
                             "it relative")

    def check_layout(self):
        for path in self.files:
            text = self.texts[path]
            if text and not text.endswith("\n"):
                self.say(path, text.count("\n") + 1, "no newline at the end; "
                         "add it")
            for number, line in enumerate(text.splitlines(), 1):
                if line != line.rstrip() and not path.endswith(".md"):
                    self.say(path, number, "blanks at the end of the line; "
                             "remove them")
                if "\t" in line and path.endswith(CODE):
                    self.say(path, number, "a tab; use 4 spaces")

    def check_openings(self):
        for path in self.files:
            if not path.endswith((".c", ".h", ".cpp", ".py", ".sh", ".cmake",
                                  ".pml")):
                continue
            head = self.texts[path].splitlines()[:16]
            if not any("SPDX-License-Identifier: MIT" in l for l in head[:2]):
                self.say(path, 1, "no licence; begin with "
                         "SPDX-License-Identifier: MIT")
            name = os.path.basename(path)
            names = (name, os.path.splitext(name)[0], path)
            if not any(re.search(r"(^|[\s*#\"/])" + re.escape(n) + r" - ", l)
                       for n in names for l in head):
                self.say(path, 1, f"does not say which question it answers; "
                         f"open with `{name} - ...`")

    # -- documents and build -----------------------------------------------

    def check_documents(self):
        for path in self.files:
            if not path.endswith(".md"):
                continue
            for number, line in enumerate(self.texts[path].splitlines(), 1):
                self.check_document_line(path, number, line)

    def check_document_line(self, path, number, line):
        for file, function in DOC_WALK.findall(line):
            if file not in self.texts:
                self.say(path, number, f"names {file}, which does not exist")
            elif not re.search(r"\b" + function + r"\b", self.without_comments(
                    self.texts[file])):
                self.say(path, number, f"{file} has no {function}; follow the "
                         "code")
        here = os.path.dirname(path)
        for file in DOC_PATH.findall(line):
            if file.startswith("build/"):
                continue
            if file not in self.texts and os.path.normpath(
                    os.path.join(here, file)) not in self.texts and \
                    "include/" + file not in self.texts:
                self.say(path, number, f"names {file}, which does not exist")
        for link in DOC_LINK.findall(line):
            if not os.path.exists(os.path.join(self.root, here, link)):
                self.say(path, number, f"links to {link}, which does not exist")

    def check_threads(self):
        """docs/THREADS.md has a row for every atomic, so it names every file
        that has one."""
        threads = self.texts.get("docs/THREADS.md")
        if threads is None:
            return
        rows = re.findall(r"^\| ([a-z][\w*-]+) \|", threads, re.M)
        for row in sorted(set(r for r in rows if rows.count(r) > 1)):
            self.say("docs/THREADS.md", 1, f"two rows are called {row}")
        for path in self.code():
            if not path.startswith(tuple(f + "/" for f in LIBRARY)) or \
                    re.search(r"_(test|stress|fuzz)\.[ch]$", path):
                continue
            code = self.without_comments(self.texts[path])
            found = ATOMIC.search(code)
            if found and path not in threads:
                line = code.count("\n", 0, found.start()) + 1
                self.say(path, line, "an atomic that docs/THREADS.md does not "
                         "know; add its row, naming this file")

    def check_readme_program(self):
        """The README's program is the sample, so that it was built and run."""
        readme = self.texts.get("README.md", "")
        hello = self.texts.get("samples/hello.c")
        blocks = re.findall(r"^```c\n(.*?)^```", readme, re.S | re.M)
        if hello is None or not blocks:
            return
        if "main(" not in blocks[0] or blocks[0] not in hello:
            line = readme.count("\n", 0, readme.index("```c")) + 1
            self.say("README.md", line, "the program is not the one of "
                     "samples/hello.c; copy it from there, all below its "
                     "opening comment")

    def check_listed(self):
        listed = {p: self.texts[p] for p in self.files
                  if os.path.basename(p) == "CMakeLists.txt"}
        for path in self.files:
            if not path.endswith((".c", ".cpp")):
                continue
            stem = re.escape(os.path.splitext(os.path.basename(path))[0])
            folder = os.path.dirname(path)
            while True:
                text = listed.get(os.path.join(folder, "CMakeLists.txt"), "")
                if re.search(r"(?<![\w-])" + stem + r"(?![\w-])", text):
                    break
                if not folder:
                    self.say(path, 1, "listed in no CMakeLists.txt; list it or "
                             "delete it")
                    break
                folder = os.path.dirname(folder)

    def run(self):
        for check in (self.check_includes, self.check_prototypes,
                      self.check_symbols, self.check_calls, self.check_marks,
                      self.check_layout, self.check_openings,
                      self.check_documents, self.check_threads,
                      self.check_thread_locals,
                      self.check_readme_program,
                      self.check_listed):
            check()
        return self.findings

    # -- report ------------------------------------------------------------

    @staticmethod
    def function_lengths(text):
        lengths, start = [], None
        for number, line in enumerate(text.splitlines()):
            if line.startswith("{"):
                start = number
            elif line.startswith("}") and start is not None:
                if not line.startswith("};"):
                    lengths.append(number - start - 1)
                start = None
        return lengths

    def report(self):
        print(f"{'folder':22} files  lines  function length  comments  >80 cols")
        print(f"{'':22}               med / 90th / max")
        for layer in self.layers:
            paths = [p for p in self.code() if self.layer_of(p) == layer]
            if not paths:
                continue
            text = [self.texts[p] for p in paths]
            lengths = sorted(n for t in text for n in self.function_lengths(t))
            lines = sum(t.count("\n") for t in text)
            comment = sum(len(c.splitlines()) for t in text
                          for c in re.findall(r"/\*.*?\*/", t, re.S))
            wide = sum(len(l) > 80 for t in text for l in t.splitlines())
            sizes = "-" if not lengths else \
                f"{statistics.median(lengths):.0f} / " \
                f"{lengths[len(lengths) * 9 // 10]} / {lengths[-1]}"
            print(f"{layer:22} {len(paths):5} {lines:6}  {sizes:>15}  "
                  f"{comment * 100 // max(lines, 1):6} %  {wide:8}")
        print(ANCHORS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--build", help="build directory to read symbols from")
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    build = args.build or os.path.join(args.root, "build/dev")
    house = House(args.root, build)
    if args.report:
        house.report()
        return 0
    findings = house.run()
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
