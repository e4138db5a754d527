#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""house_test.py - does house.py reject every way of breaking the house?

Builds a clean tree in miniature, which must pass, then spoils it in one way at a
time: each must be found, at the right file, and by nothing else.
"""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import house  # noqa: E402

SPDX = "/* SPDX-License-Identifier: MIT */\n"


def opened(name, body):
    return f"{SPDX}/*\n * {name} - what is this?\n */\n{body}"


HELLO = "#include <ringmail/base.h>\nint\nmain(void)\n{\n}\n"

CLEAN = {
    "mailbox/inbox.c": opened("inbox.c", """#include <stdint.h>
#include <ck_pr.h>
#include <ringmail/base.h>
#define HEAD(x) ck_pr_load_ptr(x)
#include "base/list.h"
#include "mailbox/inbox.h"
/* malloc and sleep are only words here: "sleep(1)" */
static const char *words = "malloc(1)";
"""),
    "mailbox/inbox.h": opened("inbox.h", "int rgi_inbox_push(void);\n"),
    "mailbox/inbox_test.c": opened("inbox_test.c", """#include <pthread.h>
#include "mailbox/inbox.h"
"""),
    "base/list.h": opened("list.h", "struct rgi_list;\n"),
    "base/memory.c": opened("memory.c", "void *rgi_alloc(void)\n"
                            "{\n    return malloc(1);\n}\n"),
    "rings/ring.c": opened("ring.c", '#include "rings/ring.h"\n'
                           "#include <liburing.h>\n"),
    "rings/ring.h": opened("ring.h", "struct rgi_ring;\n"),
    "samples/hello.c": opened("hello.c", HELLO),
    "README.md": "# x\n\n```c\n" + HELLO + "```\n",
    "include/ringmail/base.h": opened("base.h", """
/* Thread: any. */
#define rgm_a() rgm_a_call()
RGM_API int rgm_a_call(void);
RGM_API int rgm_b(void);
"""),
    "mailbox/CMakeLists.txt": "ringmail_module(mailbox SOURCES inbox.c\n"
                              "    TESTS inbox_test)\n",
    "base/CMakeLists.txt": "ringmail_module(base SOURCES memory.c)\n",
    "rings/CMakeLists.txt": "ringmail_module(rings SOURCES ring.c)\n",
    "samples/CMakeLists.txt": "ringmail_program(hello SOURCES hello.c)\n",
    "docs/THREADS.md": "| `mailbox/inbox.c` | head |\n",
    "docs/WALK.md": "`mailbox/inbox.h: rgi_inbox_push`, then see "
                    "[list](../base/list.h) and `rings/ring.c`.\n",
    "tools/x.py": "# SPDX-License-Identifier: MIT\n\"\"\"x.py - what?\"\"\"\n",
}

# (file, text added to it, or whole new file when the file is not in CLEAN;
#  words the finding must contain)
SPOILED = [
    ("mailbox/inbox.c", '#include "rings/ring.h"\n',
     "mailbox may not include rings"),
    ("samples/hello.c", '#include "base/list.h"\n',
     "samples may not include base"),
    ("rings/ring.c", '#include "mailbox/inbox.h"\n',
     "rings may not include mailbox"),
    ("mailbox/inbox.c", "#include <liburing.h>\n", "<liburing.h> is not for"),
    ("rings/ring.c", "#include <ck_pr.h>\n", "<ck_pr.h> is not for rings"),
    ("base/list.h", "#include <netdb.h>\n", "<netdb.h> is not for base"),
    ("mailbox/inbox_test.c", "#include <liburing.h>\n", "is not for mailbox"),
    ("mailbox/inbox.c", '#include "../base/list.h"\n', "path from the root"),
    ("mailbox/inbox.c", '#include "inbox.h"\n', "path from the root"),
    ("mailbox/inbox.c", '#include "base/gone.h"\n', "does not exist"),
    ("mailbox/inbox.c", '#include "ringmail/base.h"\n', "is public; write <"),
    ("include/ringmail/base.h", '#include "base/list.h"\n', "includes private"),
    ("misc/a.h", opened("a.h", ""), "in no layer"),
    ("include/ringmail/base.h", "\n/* Says nothing. */\n"
     "RGM_API int rgm_c(void);\n", "`Thread:`"),
    ("include/ringmail/base.h", "\nRGM_API int rgm_c(void);\n", "`Thread:`"),
    ("samples/hello.c", "int a = sprintf(b, c);\n", "sprintf is banned"),
    ("samples/hello.c", "int a = strcpy (b, c);\n", "strcpy is banned"),
    ("mailbox/inbox_test.c", "int a = usleep(1);\n", "usleep is banned"),
    ("mailbox/inbox_test.c", "int a = sleep(1);\n", "sleep is banned"),
    ("mailbox/inbox_test.c", "int a = atoi(b);\n", "atoi is banned"),
    ("mailbox/inbox.c", "int *a = malloc(1);\n", "malloc is banned"),
    ("mailbox/inbox.c", "int a = free(1);\n", "free is banned"),
    ("base/list.h", "int a = calloc(1);\n", "calloc is banned"),
    ("mailbox/inbox.c", "int a = pthread_mutex_lock(b);\n", "pthread_mutex"),
    ("mailbox/inbox.c", "int a = printf(b);\n", "prints nothing"),
    ("mailbox/inbox.c", "int a = fprintf(stderr, b);\n", "prints nothing"),
    ("mailbox/inbox.c", "int a = exit(1);\n", "exit is banned"),
    ("mailbox/inbox.c", "static __thread int own;\nint *a = &own;\n",
     "thread's own"),
    ("mailbox/inbox.c", "/* TO" "DO: later */\n", "mark; do it"),
    ("docs/WALK.md", "FIX" "ME\n", "mark; do it"),
    ("docs/WALK.md", "see /ho" "me/somebody/x\n", "path of somebody's machine"),
    ("tools/x.py", "A = '/wo" "rk/here'\n", "path of somebody's machine"),
    ("mailbox/inbox.c", "\tint a;\n", "a tab"),
    ("mailbox/inbox.c", "int a; \n", "blanks at the end"),
    ("mailbox/inbox.c", "int a;", "no newline at the end"),
    ("base/other.h", "/* other.h - what? */\n", "no licence"),
    ("base/other.h", SPDX + "/* Other things. */\n", "which question"),
    ("tools/y.py", "# y.py - what?\n", "no licence"),
    ("docs/WALK.md", "`mailbox/inbox.h: rgi_inbox_pull`\n",
     "has no rgi_inbox_pull"),
    ("docs/WALK.md", "`mailbox/gone.c: rgi_x`\n", "does not exist"),
    ("docs/WALK.md", "`mailbox/gone.h`\n", "does not exist"),
    ("docs/WALK.md", "[gone](gone.md)\n", "links to gone.md"),
    ("base/memory.c", "int a = __atomic_load_n(b, c);\n", "docs/THREADS.md"),
    ("rings/ring.c", "int a = ck_pr_load_64(b);\n", "docs/THREADS.md"),
    ("docs/THREADS.md", "| head | x |\n| head | y |\n", "two rows are called"),
    ("mailbox/extra.c", opened("extra.c", ""), "listed in no CMakeLists.txt"),
    ("mailbox/inbox_more.c", opened("inbox_more.c", ""), "listed in no CMake"),
]


class Tree:
    def __init__(self, files):
        self.directory = tempfile.TemporaryDirectory()
        self.root = self.directory.name
        for path, text in files.items():
            self.write(path, text)
        with open(os.path.join(HERE, "layers.txt"), encoding="utf-8") as file:
            self.write("tools/layers.txt", file.read())

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def findings(self, build=None):
        return house.House(self.root, build).run()


class Rules(unittest.TestCase):
    def tree(self, files):
        tree = Tree(files)
        self.addCleanup(tree.directory.cleanup)
        return tree

    def test_clean_tree_passes(self):
        self.assertEqual(self.tree(CLEAN).findings(), [])

    def test_each_fault_is_found_alone(self):
        for path, text, words in SPOILED:
            with self.subTest(path=path, words=words):
                files = dict(CLEAN)
                files[path] = files.get(path, "") + text
                findings = self.tree(files).findings()
                hits = [f for f in findings if words in f]
                self.assertTrue(hits, f"not found; only {findings}")
                self.assertTrue(hits[0].startswith(path + ":"), hits[0])
                others = [f for f in findings if not f.startswith(path + ":")]
                self.assertEqual(others, [])

    def test_the_opening_comment_may_speak_for_all_prototypes(self):
        files = dict(CLEAN)
        files["include/ringmail/all.h"] = SPDX + (
            "/*\n * all.h - what?\n *\n * Thread: owner, everywhere.\n */\n\n"
            "RGM_API int rgm_d(void);\n")
        self.assertEqual(self.tree(files).findings(), [])

    def test_the_readme_shows_the_sample(self):
        for program in ("int\nmain(void)\n{\n    other\n}\n", "int x;\n"):
            files = dict(CLEAN)
            files["README.md"] = "# x\n\n```c\n" + program + "```\n"
            findings = self.tree(files).findings()
            self.assertEqual(len(findings), 1)
            self.assertIn("README.md:3: the program is not", findings[0])

    def test_symbols_of_the_built_library(self):
        tree = self.tree(dict(CLEAN))
        tree.write("mailbox/inbox.c", opened(
            "inbox.c", "int stray(void);\nint stray(void)\n{\n    return 1;\n}\n"
            "int rgi_fine(void);\nint rgi_fine(void)\n{\n    return 1;\n}\n"))
        build = os.path.join(tree.root, "build/dev")
        objects = os.path.join(build, "mailbox/CMakeFiles/rgi_mailbox.dir")
        os.makedirs(objects)
        object_file = os.path.join(objects, "inbox.c.o")
        subprocess.run(["cc", "-fPIC", "-c", "-o", object_file,
                        os.path.join(tree.root, "mailbox/inbox.c")], check=True)
        subprocess.run(["cc", "-shared", "-o",
                        os.path.join(build, "libringmail.so"), object_file],
                       check=True)
        findings = "\n".join(tree.findings(build))
        self.assertIn("defines stray", findings)
        self.assertNotIn("defines rgi_fine", findings)
        self.assertIn("exports stray", findings)
        self.assertIn("exports rgi_fine", findings)

    def test_exit_status_and_silence(self):
        for files, status in ((CLEAN, 0), ({**CLEAN, "misc/a.h": ""}, 1)):
            tree = self.tree(files)
            done = subprocess.run(
                [sys.executable, os.path.join(HERE, "house.py"), "--root",
                 tree.root], capture_output=True, text=True)
            self.assertEqual(done.returncode, status)
            self.assertEqual(done.stdout == "", status == 0)


if __name__ == "__main__":
    unittest.main()
